"""The numbers of Workloads in each queue and their usage, updated one Workload at a time."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from muster.admission import Rules, quantities
from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.pod_checks import MISCONFIGURED
from muster.cluster.relations import QueueKey
from muster.kube.kinds import CLUSTER_QUEUES, LOCAL_QUEUES
from muster.objects import workload_status
from muster.objects.derived import Derived
from muster.objects.kueue import Admission, Workload
from muster.objects.meta import find_condition
from muster.translation import core_workload

Resource = tuple[str, str]
"""A flavor and a resource."""

ACTIVE, NEVER_ADMISSIBLE = "active", "inadmissible"
INADMISSIBLE = frozenset({"ExceedsMaxQuota", "NoMatchingFlavor", "Suspended", MISCONFIGURED})
"""Reasons of pending Workloads that could not be admitted by an empty queue either."""
_RULES = Rules()


@dataclass(frozen=True, slots=True)
class Contribution:
    """The part of one Workload in the counts of its queues. `pending` is empty if it holds quota; `blocked`
    is the reason of its condition SuspensionBlocked, empty if that is not true."""

    cluster_queue: str
    local_queue: str
    pending: str
    queued_ms: int
    is_admitted: bool
    blocked: str
    usage: tuple[tuple[Resource, int], ...]


@dataclass(slots=True)
class Totals:
    """Sums by flavor and resource."""

    sums: dict[Resource, tuple[int, int]] = field(default_factory=dict)  # (amount, number of pod sets)

    def add(self, usage: Iterable[tuple[Resource, int]], sign: int) -> None:
        """Adds usage, or removes it if `sign` is -1. A resource without pod sets is dropped."""
        for resource, amount in usage:
            total, count = self.sums.get(resource, (0, 0))
            if count + sign:
                self.sums[resource] = total + sign * amount, count + sign
            else:
                del self.sums[resource]

    def __iter__(self) -> Iterator[tuple[Resource, int]]:
        return ((resource, total) for resource, (total, _) in self.sums.items())


@dataclass(slots=True)
class QueueCount:
    """The counts of one queue. `queued_ms` contains the queueing times of the pending Workloads that may be
    admitted, by key."""

    pending: Counter[str] = field(default_factory=Counter)
    queued_ms: dict[str, int] = field(default_factory=dict)
    blocked: Counter[str] = field(default_factory=Counter)
    reserving: int = 0
    admitted: int = 0
    reserved: Totals = field(default_factory=Totals)
    used: Totals = field(default_factory=Totals)

    @property
    def is_empty(self) -> bool:
        """Returns whether no workload is pending or holds quota."""
        return not self.reserving and not self.pending.total()

    def add(self, key: str, share: Contribution, sign: int) -> None:
        """Adds a Workload's share, or subtracts it if `sign` is -1."""
        if share.blocked:
            self.blocked[share.blocked] += sign
        if share.pending:
            self.pending[share.pending] += sign
        else:
            self.reserving += sign
            self.reserved.add(share.usage, sign)
        if share.is_admitted:
            self.admitted += sign
            self.used.add(share.usage, sign)
        if share.pending == ACTIVE and sign > 0:
            self.queued_ms[key] = share.queued_ms
        else:
            self.queued_ms.pop(key, None)


@dataclass(slots=True)
class QueueCounts:
    """The counts of all ClusterQueues and LocalQueues with Workloads."""

    by_cluster_queue: dict[str, QueueCount] = field(default_factory=dict)
    by_local_queue: dict[str, QueueCount] = field(default_factory=dict)
    shares: dict[str, Contribution] = field(default_factory=dict)
    _changed: set[QueueKey] = field(default_factory=set, compare=False)

    @classmethod
    def of(cls, cluster: ClusterState) -> "QueueCounts":
        """Returns the counts of all Workloads of a cluster."""
        counts = cls()
        for key, workload in cluster.workloads.items():
            counts.put(key, share_of(workload, cluster))
        return counts

    def put(self, key: str, share: Contribution | None) -> None:
        """Sets the share of a Workload; None if it no longer counts."""
        before = self.shares.pop(key, None)
        if before is not None and before == share:
            self.shares[key] = share
            return
        if before is not None:
            self._add(key, before, -1)
        if share is not None:
            self.shares[key] = share
            self._add(key, share, 1)

    def take_changed(self) -> set[QueueKey]:
        """Returns the queues whose counts have changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def _add(self, key: str, share: Contribution, sign: int) -> None:
        for kind, counts, queue in (
            (CLUSTER_QUEUES, self.by_cluster_queue, share.cluster_queue),
            (LOCAL_QUEUES, self.by_local_queue, share.local_queue),
        ):
            self._changed.add((kind, queue))
            count = counts.get(queue) or counts.setdefault(queue, QueueCount())
            count.add(key, share, sign)
            if count.is_empty:
                del counts[queue]


def share_of(workload: Workload, cluster: ClusterState) -> Contribution | None:
    """Returns the Workload's share of the counts; None if it has finished and released its quota."""
    status = workload.status
    if workload_status.is_finished(status) and not cluster.counts_against_quota(workload):
        return None
    reserves = workload_status.holds_quota(status)
    reserved = find_condition(status.conditions, workload_status.QUOTA_RESERVED)
    blocked = find_condition(status.conditions, workload_status.SUSPENSION_BLOCKED)
    is_inadmissible = reserved is not None and reserved.reason in INADMISSIBLE
    pending = NEVER_ADMISSIBLE if is_inadmissible else ACTIVE
    return Contribution(
        cluster_queue=queue_of(workload, cluster),
        local_queue=f"{workload.metadata.namespace}/{workload.spec.queue_name}",
        pending="" if reserves else pending,
        queued_ms=core_workload.queued_at_ms(workload, status, _RULES),
        is_admitted=reserves and workload_status.is_admitted(status),
        blocked=blocked.reason if blocked is not None and blocked.status == "True" else "",
        usage=usage_of(status.admission) if reserves and status.admission is not None else (),
    )


@Derived
def usage_of(admission: Admission) -> tuple[tuple[Resource, int], ...]:
    """Returns the usage of an admission by flavor and resource, an item for each pod set."""
    return tuple(
        ((flavor, resource), quantities.parse(resource, assigned.resource_usage.get(resource, 0)))
        for assigned in admission.pod_set_assignments
        for resource, flavor in assigned.flavors.items()
    )


def queue_of(workload: Workload, cluster: ClusterState) -> str:
    """Returns the ClusterQueue in which the Workload holds quota or is queued; empty without a LocalQueue."""
    if workload.status.admission is not None:
        return workload.status.admission.cluster_queue
    return cluster.cluster_queue_of(workload) or ""
