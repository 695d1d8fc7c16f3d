"""Gauges of the queues at one moment.

Names, labels and units are Kueue's where it has the same metric (pkg/metrics/metrics.go), with `muster_` for
`kueue_`. Quantities are in Kubernetes' units: cores, bytes.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from muster.admission import QuantityError, Rules, quantities
from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.passes.eligibility import MISCONFIGURED
from muster.controller.passes.queue_status import nominal_quotas
from muster.objects import workload_status
from muster.objects.autoscaling import ProvisioningRequest
from muster.objects.kueue import Workload
from muster.objects.kueue_queues import ClusterQueue, FlavorUsage
from muster.objects.meta import find_condition, is_true, millis
from muster.translation import core_workload

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
INADMISSIBLE = frozenset({"ExceedsMaxQuota", "NoMatchingFlavor", "Suspended", MISCONFIGURED})

Labels = tuple[str, ...]


@dataclass(frozen=True)
class QueueGauges(Collector):
    """Values by name and labels. Immutable, as a scrape may come at any time."""

    values: Mapping[str, Mapping[Labels, float]] = field(default_factory=dict)

    def collect(self) -> Iterator[Metric]:
        for name, (labels, documentation) in GAUGES.items():
            family = GaugeMetricFamily(name, documentation, labels=labels)
            for label_values, value in self.values.get(name, {}).items():
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


def queue_gauges(cluster: ClusterState) -> QueueGauges:
    """Returns the gauges from the statuses of the queues and the pending Workloads."""
    values: dict[str, dict[Labels, float]] = {name: {} for name in GAUGES}
    for queue in cluster.cluster_queues.values():
        values["muster_reserving_active_workloads"][queue.key,] = queue.status.reserving_workloads
        values["muster_admitted_active_workloads"][queue.key,] = queue.status.admitted_workloads
        nominal = nominal_quotas(queue, cluster)
        values["muster_cluster_queue_nominal_quota"] |= {
            (queue.spec.cohort_name, queue.key, flavor, resource): _in_api_unit(resource, amount)
            for (flavor, resource), amount in nominal.items()
        }
        values["muster_cluster_queue_resource_reservation"] |= _usage(queue, queue.status.flavors_reservation)
        values["muster_cluster_queue_resource_usage"] |= _usage(queue, queue.status.flavors_usage)
    values["muster_suspension_blocked_workloads"].update(_suspension_blocked(cluster))
    _add_pending(cluster, values)
    _add_requests(cluster, values)
    return QueueGauges(values)


def _usage(queue: ClusterQueue, flavors: Iterable[FlavorUsage]) -> dict[Labels, float]:
    found: dict[Labels, float] = {}
    for flavor in flavors:
        for r in flavor.resources:
            # A status may contain anything: the sums that Muster writes can exceed the limit of a quantity.
            with suppress(QuantityError):
                labels = (queue.spec.cohort_name, queue.key, flavor.name, r.name)
                found[labels] = _in_api_unit(r.name, quantities.parse(r.name, r.total))
    return found


def _in_api_unit(resource: str, amount: int) -> float:
    """Returns the amount in the resource's own unit; the core counts cpu in thousandths."""
    return amount / 1000 if resource == "cpu" else amount


def _suspension_blocked(cluster: ClusterState) -> Counter[Labels]:
    blocked = (
        (w, find_condition(w.status.conditions, workload_status.SUSPENSION_BLOCKED))
        for w in cluster.workloads.values()
    )
    return Counter(
        (queue_of(w, cluster), c.reason) for w, c in blocked if c is not None and c.status == "True"
    )


def _add_pending(cluster: ClusterState, values: Mapping[str, dict[Labels, float]]) -> None:
    count: Counter[Labels] = Counter()
    oldest_ms: dict[Labels, int] = {}
    for workload in cluster.workloads.values():
        if workload_status.is_finished(workload.status) or workload_status.holds_quota(workload.status):
            continue
        queue = queue_of(workload, cluster)
        reserved = find_condition(workload.status.conditions, workload_status.QUOTA_RESERVED)
        inadmissible = reserved is not None and reserved.reason in INADMISSIBLE
        count[queue, "inadmissible" if inadmissible else "active"] += 1
        if not inadmissible:
            since_ms = cluster.cache.get(_queued_at_ms, workload.key, workload)
            oldest_ms[queue,] = min(since_ms, oldest_ms.get((queue,), since_ms))
    values["muster_pending_workloads"].update(count)
    values["muster_oldest_pending_workload_timestamp_seconds"].update(_seconds(oldest_ms))


def _queued_at_ms(workload: Workload) -> int:
    return core_workload.queued_at_ms(workload, workload.status, Rules())


def _add_requests(cluster: ClusterState, values: Mapping[str, dict[Labels, float]]) -> None:
    created_ms: dict[Labels, list[int]] = defaultdict(list)
    queues = {w.metadata.uid: queue_of(w, cluster) for w in cluster.workloads.values()}
    for request in cluster.provisioning_requests.values():
        owner = request.metadata.controller
        if owner is not None and owner.uid in queues:
            created_ms[queues[owner.uid], _state(request)].append(millis(request.metadata.creation_timestamp))
    values["muster_provisioning_requests"].update(
        {labels: len(times) for labels, times in created_ms.items()}
    )
    oldest_ms = {labels: min(times) for labels, times in created_ms.items()}
    values["muster_oldest_provisioning_request_timestamp_seconds"].update(_seconds(oldest_ms))


def _state(request: ProvisioningRequest) -> str:
    true = [s for s in REQUEST_STATES if is_true(request.status.conditions, s)]
    return true[-1] if true else "Pending"


def _seconds(times_ms: Mapping[Labels, int]) -> dict[Labels, float]:
    return {labels: time_ms / 1000 for labels, time_ms in times_ms.items()}


def queue_of(workload: Workload, cluster: ClusterState) -> str:
    """Returns the ClusterQueue of its quota, or the one it is queued in; empty without a LocalQueue."""
    if workload.status.admission is not None:
        return workload.status.admission.cluster_queue
    local = cluster.local_queue_of(workload)
    return local.spec.cluster_queue if local else ""
