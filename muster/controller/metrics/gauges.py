"""Gauges of queues and of ProvisioningRequests.

Names, labels and units are those of Kueue's metrics if these exist (pkg/metrics/metrics.go), with the prefix
`muster_`. Quantities are in Kubernetes' units: cores, bytes.
"""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from muster.admission.quantities import in_api_unit
from muster.cluster.cluster_state import ClusterState
from muster.cluster.queue_counts import QueueCount, QueueCounts, Resource
from muster.controller.metrics.request_gauges import QueueAndState, RequestGauges
from muster.controller.passes.pass_plan import PassStatistics
from muster.controller.passes.queue_status import nominal_quotas
from muster.kube.kinds import CLUSTER_QUEUES
from muster.objects.kueue_queues import ClusterQueue

QUEUE = ("cluster_queue",)
QUOTA = ("cohort", "cluster_queue", "flavor", "resource")
STATE = ("cluster_queue", "state")
GAUGES: dict[str, tuple[tuple[str, ...], str]] = {
    "muster_pending_workloads": (
        ("cluster_queue", "status"),
        "Workloads without quota; status `inadmissible`: not even an empty queue could admit them.",
    ),
    "muster_oldest_pending_workload_timestamp_seconds": (
        QUEUE,
        "When the longest-waiting admissible workload was queued.",
    ),
    "muster_reserving_active_workloads": (QUEUE, "Workloads that hold quota."),
    "muster_admitted_active_workloads": (QUEUE, "Workloads that are admitted."),
    "muster_suspension_blocked_workloads": (
        ("cluster_queue", "reason"),
        "Workloads that must stop but have not stopped, by the reason of their condition SuspensionBlocked.",
    ),
    "muster_cluster_queue_nominal_quota": (QUOTA, "Nominal quota of the ClusterQueue."),
    "muster_cluster_queue_resource_reservation": (QUOTA, "Quota reserved by workloads."),
    "muster_cluster_queue_resource_usage": (QUOTA, "Quota used by admitted workloads."),
    "muster_provisioning_requests": (STATE, "ProvisioningRequests of workloads, by state."),
    "muster_oldest_provisioning_request_timestamp_seconds": (
        STATE,
        "When the oldest ProvisioningRequest in this state was created.",
    ),
}

Labels = tuple[str, ...]
Values = Mapping[str, Mapping[Labels, float]]
"""Values by gauge name and labels."""


class QueueGauges(Collector):
    """The gauges of queues and of ProvisioningRequests. The values of a queue or of a state of requests are
    replaced as a whole, as a scrape may happen at any time."""

    def __init__(self) -> None:
        self._by_queue: dict[str, Values] = {}
        self._requests = RequestGauges()
        self._by_state: dict[QueueAndState, Values] = {}

    def update(self, cluster: ClusterState, statistics: PassStatistics) -> None:
        """Updates the gauges of queues and requests that changed by the beginning of the pass."""
        counts, changed = statistics.counts, statistics.changed_queues
        if changed is None:
            queues = cluster.cluster_queues.keys() | counts.by_cluster_queue.keys()
            self._by_queue = {queue: _of_queue(queue, cluster, counts) for queue in queues}
        else:
            queues = {key for kind, key in changed if kind is CLUSTER_QUEUES}
            self._by_queue.update({queue: _of_queue(queue, cluster, counts) for queue in queues})
        for labels in self._requests.update(cluster, statistics.examined):
            self._by_state[labels] = {name: {labels: value} for name, value in self._requests.of(labels)}

    def collect(self) -> Iterator[Metric]:
        groups = [*self._by_queue.values(), *self._by_state.values()]
        for name, (labels, documentation) in GAUGES.items():
            family = GaugeMetricFamily(name, documentation, labels=labels)
            for values in groups:
                for label_values, value in values.get(name, {}).items():
                    family.add_metric(label_values, value)
            yield family


class WatchAges(Collector):
    """The age of each watch's last event, computed on every scrape."""

    def __init__(self, ages_s: Callable[[], Mapping[str, float]]) -> None:
        self._ages_s = ages_s

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "muster_watch_age_seconds",
            "Time since the last event, bookmark or list of a watch.",
            labels=("watch",),
        )
        for name, age_s in self._ages_s().items():
            family.add_metric((name,), age_s)
        yield family


def _of_queue(key: str, cluster: ClusterState, counts: QueueCounts) -> Values:
    """Returns the gauges of a queue, which may no longer exist, from the counts of its Workloads, as its
    status may be outdated."""
    queue, count = cluster.cluster_queues.get(key), counts.by_cluster_queue.get(key)
    values = _of_count(key, count) if count is not None else {}
    return {**values, **_of_quota(queue, count or QueueCount(), cluster)} if queue is not None else values


def _of_quota(queue: ClusterQueue, count: QueueCount, cluster: ClusterState) -> Values:
    nominal = nominal_quotas(queue, cluster)
    unused = dict.fromkeys(nominal, 0)
    return {
        "muster_reserving_active_workloads": {(queue.key,): count.reserving},
        "muster_admitted_active_workloads": {(queue.key,): count.admitted},
        "muster_cluster_queue_nominal_quota": _by_labels(queue, nominal),
        "muster_cluster_queue_resource_reservation": _by_labels(queue, unused | dict(count.reserved)),
        "muster_cluster_queue_resource_usage": _by_labels(queue, unused | dict(count.used)),
    }


def _by_labels(queue: ClusterQueue, amounts: Mapping[Resource, int]) -> dict[Labels, float]:
    return {
        (queue.spec.cohort_name, queue.key, flavor, resource): in_api_unit(resource, amount)
        for (flavor, resource), amount in amounts.items()
    }


def _of_count(queue: str, count: QueueCount) -> Values:
    oldest_ms: dict[Labels, int] = {(queue,): min(count.queued_ms.values())} if count.queued_ms else {}
    return {
        "muster_suspension_blocked_workloads": {(queue, why): n for why, n in count.blocked.items() if n},
        "muster_pending_workloads": {(queue, status): n for status, n in count.pending.items() if n},
        "muster_oldest_pending_workload_timestamp_seconds": _seconds(oldest_ms),
    }


def _seconds(times_ms: Mapping[Labels, int]) -> dict[Labels, float]:
    return {labels: time_ms / 1000 for labels, time_ms in times_ms.items()}
