"""Gauges of the queues at one moment.

Names, labels and units are Kueue's where it has the same metric (pkg/metrics/metrics.go), with `muster_` for
`kueue_`. Quantities are in Kubernetes' units: cores, bytes.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from muster.admission import QuantityError, quantities
from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.cluster.relations import QueueKey
from muster.controller.passes.queue_counts import QueueCount, QueueCounts, queue_of
from muster.controller.passes.queue_status import nominal_quotas
from muster.kube.kinds import CLUSTER_QUEUES
from muster.objects.autoscaling import ProvisioningRequest
from muster.objects.kueue_queues import ClusterQueue, FlavorUsage
from muster.objects.meta import is_true, millis

QUEUE = ("cluster_queue",)
QUOTA = ("cohort", "cluster_queue", "flavor", "resource")
STATE = ("cluster_queue", "state")
GAUGES: dict[str, tuple[tuple[str, ...], str]] = {
    "muster_pending_workloads": (
        ("cluster_queue", "status"),
        "Workloads without quota; status `inadmissible`: they would not fit an empty queue either.",
    ),
    "muster_oldest_pending_workload_timestamp_seconds": (
        QUEUE,
        "When the admissible workload that has waited longest was queued.",
    ),
    "muster_reserving_active_workloads": (QUEUE, "Workloads that hold quota."),
    "muster_admitted_active_workloads": (QUEUE, "Workloads that are admitted."),
    "muster_suspension_blocked_workloads": (
        ("cluster_queue", "reason"),
        "Workloads that must stop and have not, by the reason of their condition SuspensionBlocked.",
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
# In the order of progress: the last condition that is true is the state.
REQUEST_STATES = ("Accepted", "Provisioned", "BookingExpired", "CapacityRevoked", "Failed")

Labels = tuple[str, ...]
Values = Mapping[str, Mapping[Labels, float]]
"""Values by the name of the gauge and by labels."""


class QueueGauges(Collector):
    """Gauges of the queues and of ProvisioningRequests. The values of a queue are replaced as a whole, as a
    scrape may come at any time."""

    def __init__(self) -> None:
        self._by_queue: dict[str, Values] = {}
        self._requests: Values = {}

    def update(self, cluster: ClusterState, counts: QueueCounts, changed: Iterable[QueueKey] | None) -> None:
        """Takes the queues' statuses and counts as they are now; `changed`: of these queues, None: of all."""
        if changed is None:
            queues = cluster.cluster_queues.keys() | counts.by_cluster_queue.keys()
            self._by_queue = {queue: _of_queue(queue, cluster, counts) for queue in queues}
        else:
            queues = {key for kind, key in changed if kind is CLUSTER_QUEUES}
            self._by_queue.update({queue: _of_queue(queue, cluster, counts) for queue in queues})
        self._requests = _of_requests(cluster)

    def collect(self) -> Iterator[Metric]:
        every = [*self._by_queue.values(), self._requests]
        for name, (labels, documentation) in GAUGES.items():
            family = GaugeMetricFamily(name, documentation, labels=labels)
            for values in every:
                for label_values, value in values.get(name, {}).items():
                    family.add_metric(label_values, value)
            yield family


class WatchAges(Collector):
    """The age of each watch's last event. Computed at every scrape, as it keeps growing."""

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
    """Returns the gauges of a queue, which may be gone, from its status and the counts of its Workloads."""
    queue, count = cluster.cluster_queues.get(key), counts.by_cluster_queue.get(key)
    values = _of_status(queue, cluster) if queue is not None else {}
    return {**values, **_of_count(key, count)} if count is not None else values


def _of_status(queue: ClusterQueue, cluster: ClusterState) -> Values:
    nominal: dict[Labels, float] = {
        (queue.spec.cohort_name, queue.key, flavor, resource): in_api_unit(resource, amount)
        for (flavor, resource), amount in nominal_quotas(queue, cluster).items()
    }
    return {
        "muster_reserving_active_workloads": {(queue.key,): queue.status.reserving_workloads},
        "muster_admitted_active_workloads": {(queue.key,): queue.status.admitted_workloads},
        "muster_cluster_queue_nominal_quota": nominal,
        "muster_cluster_queue_resource_reservation": _usage(queue, queue.status.flavors_reservation),
        "muster_cluster_queue_resource_usage": _usage(queue, queue.status.flavors_usage),
    }


def _usage(queue: ClusterQueue, flavors: Iterable[FlavorUsage]) -> dict[Labels, float]:
    found: dict[Labels, float] = {}
    for flavor in flavors:
        for r in flavor.resources:
            # A status may contain anything: the sums that Muster writes can exceed the limit of a quantity.
            with suppress(QuantityError):
                labels = (queue.spec.cohort_name, queue.key, flavor.name, r.name)
                found[labels] = in_api_unit(r.name, quantities.parse(r.name, r.total))
    return found


def in_api_unit(resource: str, amount: int) -> float:
    """Returns the amount in the resource's own unit; the core counts cpu in thousandths."""
    return amount / 1000 if resource == "cpu" else amount


def _of_count(queue: str, count: QueueCount) -> Values:
    oldest_ms: dict[Labels, int] = {(queue,): min(count.queued_ms.values())} if count.queued_ms else {}
    return {
        "muster_suspension_blocked_workloads": {(queue, why): n for why, n in count.blocked.items() if n},
        "muster_pending_workloads": {(queue, status): n for status, n in count.pending.items() if n},
        "muster_oldest_pending_workload_timestamp_seconds": _seconds(oldest_ms),
    }


def _of_requests(cluster: ClusterState) -> Values:
    created_ms: dict[Labels, list[int]] = defaultdict(list)
    for request in cluster.provisioning_requests.values():
        owner = cluster.requester_of(request)
        if owner is not None:
            labels = (queue_of(owner, cluster), request_state(request))
            created_ms[labels].append(millis(request.metadata.creation_timestamp))
    oldest_ms = {labels: min(times) for labels, times in created_ms.items()}
    return {
        "muster_provisioning_requests": {labels: len(times) for labels, times in created_ms.items()},
        "muster_oldest_provisioning_request_timestamp_seconds": _seconds(oldest_ms),
    }


def request_state(request: ProvisioningRequest) -> str:
    """Returns how far a request has come: the last of REQUEST_STATES that is true, else Pending."""
    true = [s for s in REQUEST_STATES if is_true(request.status.conditions, s)]
    return true[-1] if true else "Pending"


def _seconds(times_ms: Mapping[Labels, int]) -> dict[Labels, float]:
    return {labels: time_ms / 1000 for labels, time_ms in times_ms.items()}
