"""The metrics of the controller: one table of names, labels, help, sources, queries and charts.

The registry, docs/metrics.md, the dashboards and the queries of alerts derive from METRICS. Names, labels and
units are the same as in Kueue if it has the metric (pkg/metrics/metrics.go), with the prefix `muster_` for
`kueue_`. Quantities are in Kubernetes' units: cores, bytes.
"""

from muster.controller.metrics.spec import (
    COUNTER,
    GAUGE,
    HISTOGRAM,
    Chart,
    Direct,
    MetricSpec,
    OfChange,
    OfPass,
    OfQueue,
    OfRequests,
)

WAIT_BUCKETS_S = (1, *(2.5 * 2**n for n in range(16)))  # Kueue's: up to 23 hours
ERROR_BUCKETS_S = (-86400, -21600, -3600, -600, -60, 0, 60, 600, 3600, 21600, 86400)
PASS_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)

QUEUE = ("cluster_queue",)
QUEUE_AND_PRIORITY = ("cluster_queue", "priority_class")
QUOTA = ("cohort", "cluster_queue", "flavor", "resource")
STATE = ("cluster_queue", "state")
COLUMN = "(cluster_queue, flavor, resource)"
QUOTA_RESERVED, ADMITTED, FINISHED, PREEMPTED = "QuotaReserved", "Admitted", "FinishedWorkload", "Preempted"

_RESERVED_MAX = f"max by {COLUMN} ($cluster_queue_resource_reservation)"
_NOMINAL_MAX = f"max by {COLUMN} ($cluster_queue_nominal_quota)"


def _wait_p90(name: str) -> str:
    """Returns the query of the wait of workloads that passed within an hour."""
    return f"histogram_quantile(0.9, sum by (le, cluster_queue) (rate(${name}_bucket[1h])))"


METRICS: tuple[MetricSpec, ...] = (
    MetricSpec(
        "pending_workloads",
        GAUGE,
        ("cluster_queue", "status"),
        "Workloads without quota; status `inadmissible`: not even an empty queue could admit them.",
        OfQueue(lambda q: (((q.name, status), n) for status, n in q.count.pending.items() if n)),
        query="sum by (cluster_queue, status) ($pending_workloads)",
        charts=(Chart("Pending workloads", kueue=True),),
    ),
    MetricSpec(
        "admitted_active_workloads",
        GAUGE,
        QUEUE,
        "Workloads that are admitted.",
        OfQueue(lambda q: [((q.name,), q.count.admitted)] if q.exists else []),
        query="sum by (cluster_queue) ($admitted_active_workloads)",
        charts=(Chart("Admitted workloads", kueue=True),),
    ),
    MetricSpec(
        "reserving_active_workloads",
        GAUGE,
        QUEUE,
        "Workloads that hold quota.",
        OfQueue(lambda q: [((q.name,), q.count.reserving)] if q.exists else []),
    ),
    MetricSpec(
        "quota_reserved_workloads_total",
        COUNTER,
        QUEUE_AND_PRIORITY,
        "Workloads that reserved quota.",
        OfChange(QUOTA_RESERVED, lambda change: [(change.queue_and_priority, 1)]),
    ),
    MetricSpec(
        "quota_reserved_wait_time_seconds",
        HISTOGRAM,
        QUEUE_AND_PRIORITY,
        "From queueing to quota reservation.",
        OfChange(QUOTA_RESERVED, lambda change: [(change.queue_and_priority, change.queued_s)]),
        query=_wait_p90("quota_reserved_wait_time_seconds"),
        charts=(Chart("Time in the queue, 90th percentile", "s", kueue=True),),
        buckets=WAIT_BUCKETS_S,
    ),
    MetricSpec(
        "admitted_workloads_total",
        COUNTER,
        QUEUE_AND_PRIORITY,
        "Workloads that were admitted.",
        OfChange(ADMITTED, lambda change: [(change.queue_and_priority, 1)]),
    ),
    MetricSpec(
        "admission_wait_time_seconds",
        HISTOGRAM,
        QUEUE_AND_PRIORITY,
        "From queueing to admission.",
        OfChange(ADMITTED, lambda change: [(change.queue_and_priority, change.queued_s)]),
        buckets=WAIT_BUCKETS_S,
    ),
    MetricSpec(
        "evicted_workloads_total",
        COUNTER,
        ("cluster_queue", "reason", "priority_class"),
        "Workloads that were evicted.",
        OfChange(None, lambda change: change.evictions()),
        query="3600 * sum by (cluster_queue, reason) (rate($evicted_workloads_total[10m]))",
        charts=(Chart("Evictions per hour", kueue=True),),
    ),
    MetricSpec(
        "preempted_workloads_total",
        COUNTER,
        ("preempting_cluster_queue", "reason"),
        "Workloads that were preempted.",
        OfChange(PREEMPTED, lambda change: [(change.preemptor_and_reason, 1)]),
        query="3600 * sum by (preempting_cluster_queue, reason) (rate($preempted_workloads_total[10m]))",
        charts=(Chart("Preemptions per hour", kueue=True),),
    ),
    MetricSpec(
        "finished_workloads_total",
        COUNTER,
        QUEUE_AND_PRIORITY,
        "Workloads that finished.",
        OfChange(FINISHED, lambda change: [(change.queue_and_priority, 1)]),
    ),
    MetricSpec(
        "cluster_queue_resource_reservation",
        GAUGE,
        QUOTA,
        "Quota reserved by workloads.",
        OfQueue(lambda q: q.by_resource(q.count.reserved)),
        query=_RESERVED_MAX,
        charts=(Chart("Quota in use", kueue=True),),
    ),
    MetricSpec(
        "cluster_queue_nominal_quota",
        GAUGE,
        QUOTA,
        "Nominal quota of the ClusterQueue.",
        OfQueue(lambda q: q.by_resource(q.nominal.items())),
        query=_NOMINAL_MAX,
        charts=(Chart("Quota borrowed", query=f"{_RESERVED_MAX} - {_NOMINAL_MAX} > 0", kueue=True),),
    ),
    MetricSpec(
        "cluster_queue_resource_usage",
        GAUGE,
        QUOTA,
        "Quota used by admitted workloads.",
        OfQueue(lambda q: q.by_resource(q.count.used)),
    ),
    MetricSpec(
        "admission_checks_wait_time_seconds",
        HISTOGRAM,
        QUEUE_AND_PRIORITY,
        "From quota reservation to admission.",
        OfChange(ADMITTED, lambda change: [(change.queue_and_priority, change.reserved_s)]),
        query=_wait_p90("admission_checks_wait_time_seconds"),
        charts=(Chart("Wait for admission checks, 90th percentile", "s", kueue=True),),
        buckets=WAIT_BUCKETS_S,
    ),
    MetricSpec(
        "provisioning_requests",
        GAUGE,
        STATE,
        "ProvisioningRequests of workloads, by state.",
        OfRequests(len),
        query="sum by (cluster_queue, state) ($provisioning_requests)",
        charts=(Chart("Provisioning requests"),),
    ),
    MetricSpec(
        "oldest_provisioning_request_timestamp_seconds",
        GAUGE,
        STATE,
        "When the oldest ProvisioningRequest in this state was created.",
        OfRequests(lambda created_ms: min(created_ms) / 1000),
    ),
    MetricSpec(
        "provisioning_timeouts_total",
        COUNTER,
        QUEUE,
        "ProvisioningRequests that timed out.",
        OfChange(None, lambda change: change.provisioning_timeouts()),
    ),
    MetricSpec(
        "oldest_pending_workload_timestamp_seconds",
        GAUGE,
        QUEUE,
        "When the longest-waiting admissible workload was queued.",
        OfQueue(lambda q: [((q.name,), min(q.count.queued_ms.values()) / 1000)] if q.count.queued_ms else []),
        query="time() - min by (cluster_queue) ($oldest_pending_workload_timestamp_seconds)",
        charts=(Chart("Age of the oldest pending workload", "s"),),
    ),
    MetricSpec(
        "pass_duration_seconds",
        HISTOGRAM,
        (),
        "Duration of a pass, including its writes.",
        OfPass(lambda passed: [((), passed.took_ms / 1000)]),
        query="histogram_quantile(0.99, sum by (le) (rate($pass_duration_seconds_bucket[10m])))",
        charts=(Chart("Duration of a pass, 99th percentile", "s", controller=True),),
        buckets=PASS_BUCKETS_S,
    ),
    MetricSpec(
        "pass_differences_total",
        COUNTER,
        (),
        "Changed Workloads that were detected only by a full pass; always 0 unless there is a bug.",
        OfPass(lambda passed: [((), passed.plan.statistics.differences)]),
    ),
    MetricSpec(
        "writes_total",
        COUNTER,
        ("kind", "verb", "result"),
        "Writes to the API server, by result.",
        Direct("Metrics.wrote"),
        charts=(
            Chart(
                "Writes per second",
                "1/s",
                query="sum by (kind, result) (rate($writes_total[5m]))",
                controller=True,
            ),
        ),
    ),
    MetricSpec(
        "watch_age_seconds",
        GAUGE,
        ("watch",),
        "Time since the last event, bookmark or list of a watch.",
        Direct("WatchAges"),
        # At the replica where it is oldest.
        query="max by (watch) ($watch_age_seconds)",
        charts=(Chart("Age of the last event of each watch", "s", controller=True),),
    ),
    MetricSpec(
        "suspension_blocked_workloads",
        GAUGE,
        ("cluster_queue", "reason"),
        "Workloads that must stop but have not stopped, by the reason of their condition SuspensionBlocked.",
        OfQueue(lambda q: (((q.name, reason), n) for reason, n in q.count.blocked.items() if n)),
        query="sum by (cluster_queue, reason) ($suspension_blocked_workloads)",
        charts=(Chart("Gangs that must stop and have not", controller=True),),
    ),
    MetricSpec(
        "eta_starts_total",
        COUNTER,
        ("cluster_queue", "priority_class", "age", "band"),
        "Starts of gangs before, within or after the range (p10 to p90) of their first and of their latest "
        "estimate, by the age of the estimate at the start.",
        Direct("Metrics.gang_started"),
        # `or` adds the zeros: the band has no series before its first start.
        query='(sum by (priority_class, age) (increase($eta_starts_total{band="within"}[1d]))'
        " or 0 * sum by (priority_class, age) (increase($eta_starts_total[1d])))"
        " / sum by (priority_class, age) (increase($eta_starts_total[1d]))",
        charts=(Chart("Starts within the range of their estimate (expected: 0.8)", controller=True),),
    ),
    MetricSpec(
        "eta_error_seconds",
        HISTOGRAM,
        QUEUE_AND_PRIORITY,
        "Start of a gang, minus the median of its first estimate.",
        Direct("Metrics.gang_started"),
        buckets=ERROR_BUCKETS_S,
    ),
    MetricSpec(
        "eta_failures_total",
        COUNTER,
        (),
        "Failed calculations of estimated starts.",
        Direct("Metrics.eta_failed"),
    ),
    MetricSpec(
        "leader",
        GAUGE,
        (),
        "1 for the leading replica, 0 for others.",
        Direct("Metrics"),
        query="sum($leader)",
        charts=(Chart("Replicas that lead", controller=True),),
    ),
    MetricSpec(
        "metrics_errors_total",
        COUNTER,
        (),
        "Passes and writes that could not be counted.",
        Direct("Metrics.failed"),
        query="sum(rate($metrics_errors_total[10m]))",
    ),
    MetricSpec(
        "journal_failures_total",
        COUNTER,
        (),
        "Failed writes of the journal, and passes that were not recorded.",
        Direct("Metrics.journal_failed"),
    ),
    MetricSpec(
        "journal_lost_records_total",
        COUNTER,
        (),
        "Records that the journal dropped.",
        Direct("Metrics.journal_lost"),
    ),
)
BY_NAME = {spec.name: spec for spec in METRICS}
