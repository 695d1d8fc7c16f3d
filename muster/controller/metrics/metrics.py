"""Counters and histograms, computed from the results of passes and writes.

Names and labels are those of Kueue's metrics if these exist (pkg/metrics/metrics.go), with the prefix
`muster_`.
"""

from collections.abc import Callable, Iterator

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from muster.cluster import provisioning_timeouts
from muster.cluster.queue_counts import queue_of
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.metrics.gauges import QueueGauges
from muster.controller.metrics.observer import CompletedPass, Observer
from muster.controller.workload.events import ObjectEvent
from muster.kube.client import WriteError
from muster.kube.kinds import WORKLOADS
from muster.kube.writes import MergePatch, Write
from muster.objects import workload_status
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import find_condition, millis

WAIT_BUCKETS_S = (1, *(2.5 * 2**n for n in range(16)))  # Kueue's: up to 23 hours
ERROR_BUCKETS_S = (-86400, -21600, -3600, -600, -60, 0, 60, 600, 3600, 21600, 86400)
PASS_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
QUEUE_AND_PRIORITY = ("cluster_queue", "priority_class")
EVICTED_EVENT = "EvictedDueTo"
CHECK_EVENTS = (f"{EVICTED_EVENT}AdmissionCheck", "AdmissionCheckRejected")


class Metrics(Observer, Collector):
    """The metrics of the endpoint /metrics, in `registry`."""

    def __init__(self, leads: Callable[[], bool]) -> None:
        self.registry = CollectorRegistry()
        self._queues = QueueGauges()
        leader = Gauge("muster_leader", "1 for the leading replica, 0 for others.", registry=self.registry)
        leader.set_function(leads)
        self._reserved = self._counter(
            "quota_reserved_workloads", "Workloads that reserved quota.", *QUEUE_AND_PRIORITY
        )
        self._admitted = self._counter(
            "admitted_workloads", "Workloads that were admitted.", *QUEUE_AND_PRIORITY
        )
        self._evicted = self._counter(
            "evicted_workloads", "Workloads that were evicted.", "cluster_queue", "reason", "priority_class"
        )
        self._preempted = self._counter(
            "preempted_workloads", "Workloads that were preempted.", "preempting_cluster_queue", "reason"
        )
        self._finished = self._counter("finished_workloads", "Workloads that finished.", *QUEUE_AND_PRIORITY)
        self._timeouts = self._counter(
            "provisioning_timeouts", "ProvisioningRequests that timed out.", "cluster_queue"
        )
        self._writes = self._counter(
            "writes", "Writes to the API server, by result.", "kind", "verb", "result"
        )
        self._errors = self._counter("metrics_errors", "Passes and writes that could not be counted.")
        self._differences = self._counter(
            "pass_differences",
            "Changed Workloads that were detected only by a full pass; always 0 unless there is a bug.",
        )
        self._journal_failures = self._counter(
            "journal_failures", "Failed writes of the journal, and passes that were not recorded."
        )
        self._journal_lost = self._counter("journal_lost_records", "Records that the journal dropped.")
        self._eta_failures = self._counter("eta_failures", "Failed calculations of estimated starts.")
        self._eta_starts = self._counter(
            "eta_starts",
            "Gangs that started before, within or after the range (p10 to p90) of their first estimate.",
            "band",
        )
        self._eta_error = Histogram(
            "muster_eta_error_seconds",
            "Start of a gang, minus the median of its first estimate.",
            QUEUE_AND_PRIORITY,
            buckets=ERROR_BUCKETS_S,
            registry=self.registry,
        )
        self._reserved_wait = self._waits("quota_reserved_wait_time", "From queueing to quota reservation.")
        self._admission_wait = self._waits("admission_wait_time", "From queueing to admission.")
        self._checks_wait = self._waits("admission_checks_wait_time", "From quota reservation to admission.")
        self._pass_s = Histogram(
            "muster_pass_duration_seconds",
            "Duration of a pass, including its writes.",
            buckets=PASS_BUCKETS_S,
            registry=self.registry,
        )
        ProcessCollector(registry=self.registry)
        self.registry.register(self)

    def failed(self) -> None:
        self._errors.inc()

    def journal_failed(self) -> None:
        self._journal_failures.inc()

    def journal_lost(self, records: int) -> None:
        self._journal_lost.inc(records)

    def eta_failed(self) -> None:
        self._eta_failures.inc()

    def gang_started(self, queue: str, priority_class: str, band: str, error_s: float | None) -> None:
        """Counts the start of a gang that had an estimate."""
        self._eta_starts.labels(band).inc()
        if error_s is not None:
            self._eta_error.labels(queue, priority_class).observe(error_s)

    def collect(self) -> Iterator[Metric]:
        """Yields the gauges of the queues at the end of the last pass."""
        return self._queues.collect()

    def wrote(self, write: Write, error: WriteError | None) -> None:
        result = "done"
        if error is not None:
            result = "stale" if error.stale else "unsure" if error.unsure else "refused"
        verb = type(write).__name__.removeprefix("Merge").removeprefix("Json").lower()
        self._writes.labels(str(write.kind), verb, result).inc()

    def passed(self, passed: CompletedPass) -> None:
        self._pass_s.observe(passed.took_ms / 1000)
        self._differences.inc(passed.plan.statistics.differences)
        for planned in passed.done:
            workload = passed.cluster.workloads.get(planned.subject)
            if workload is not None and isinstance(planned.write, MergePatch) and planned.write.status:
                self._count_status(workload, planned, passed)
        self._queues.update(passed.cluster, passed.plan.statistics)

    def _count_status(self, workload: Workload, planned: PlannedWrite, passed: CompletedPass) -> None:
        """Counts the status changes of a Workload that a write contains."""
        assert isinstance(planned.write, MergePatch)
        status = msgspec.convert(planned.write.body["status"], WorkloadStatus)
        queue = status.admission.cluster_queue if status.admission else queue_of(workload, passed.cluster)
        reference = workload.spec.priority_class_ref
        queue_and_priority = (queue, reference.name if reference else "")
        for event in planned.events:
            if event.kind is WORKLOADS:
                self._count_event(event, queue_and_priority, status, workload, passed)

    def _count_event(
        self,
        event: ObjectEvent,
        queue_and_priority: tuple[str, str],
        status: WorkloadStatus,
        workload: Workload,
        passed: CompletedPass,
    ) -> None:
        if event.reason in CHECK_EVENTS and provisioning_timeouts.reports_timeout(event.message):
            self._timeouts.labels(queue_and_priority[0]).inc()
        queued_s = (passed.now_ms - _queued_at_ms(workload, status)) / 1000
        match event.reason:
            case "QuotaReserved":
                self._reserved.labels(*queue_and_priority).inc()
                self._reserved_wait.labels(*queue_and_priority).observe(queued_s)
            case "Admitted":
                self._admitted.labels(*queue_and_priority).inc()
                self._admission_wait.labels(*queue_and_priority).observe(queued_s)
                reserved = find_condition(status.conditions, workload_status.QUOTA_RESERVED)
                reserved_ms = millis(reserved.last_transition_time) if reserved else passed.now_ms
                self._checks_wait.labels(*queue_and_priority).observe(
                    max(0, passed.now_ms - reserved_ms) / 1000
                )
            case "FinishedWorkload":
                self._finished.labels(*queue_and_priority).inc()
            case "Preempted":
                preempted = find_condition(status.conditions, workload_status.PREEMPTED)
                preemptors = passed.plan.statistics.preemptors
                preemptor = passed.cluster.workloads.get(preemptors.get(workload.key, ""))
                queue = queue_of(preemptor, passed.cluster) if preemptor else ""
                self._preempted.labels(queue, preempted.reason if preempted else "").inc()
            case reason if reason.startswith(EVICTED_EVENT):
                self._evicted.labels(
                    queue_and_priority[0], reason.removeprefix(EVICTED_EVENT), queue_and_priority[1]
                ).inc()

    def _counter(self, name: str, documentation: str, *labels: str) -> Counter:
        return Counter(f"muster_{name}_total", documentation, labels, registry=self.registry)

    def _waits(self, name: str, documentation: str) -> Histogram:
        return Histogram(
            f"muster_{name}_seconds",
            documentation,
            QUEUE_AND_PRIORITY,
            buckets=WAIT_BUCKETS_S,
            registry=self.registry,
        )


def _queued_at_ms(workload: Workload, status: WorkloadStatus) -> int:
    """Returns when the Workload was created or last requeued."""
    requeued = find_condition(status.conditions, workload_status.REQUEUED)
    if requeued is not None and requeued.status == "True":
        return millis(requeued.last_transition_time)
    return millis(workload.metadata.creation_timestamp)
