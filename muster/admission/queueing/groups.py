"""Groups of equivalent pending workloads: what a cycle finds for one holds for its group.

Equivalent are workloads of a queue that differ in age and name only. What one of them cannot get now the
others cannot get either, so that all are parked together (Kueue: scheduling equivalence,
computeSchedulingHash in pkg/workload). The younger of two equivalent workloads may preempt at most what
the older one may.
"""

from collections.abc import Hashable, Iterator, KeysView, Mapping
from heapq import heapify, heappop, heappush

from muster.admission.model import PodSet, Workload

EquivalenceClass = Hashable
QueueOrder = tuple[bool, int, int, str, str]
QueuedWorkload = tuple[QueueOrder, Workload]

_GARBAGE_MAX = 16  # removed workloads that a group of few still keeps


class EquivalenceGroup:
    """Equivalent workloads of a queue, in queue order; never empty.

    The orders of removed ones stay in the heap until they come up, or until they are too many. Its queue
    drops a group that has lost its last workload, which then keeps nothing of what it held."""

    __slots__ = ("_first", "_heap", "_live", "equivalence", "parked", "pruning_data")

    def __init__(self, equivalence: EquivalenceClass) -> None:
        self.equivalence = equivalence
        self._live: dict[str, QueuedWorkload] = {}
        self._heap: list[QueueOrder] = []
        self._first: QueuedWorkload | None = None  # once it was asked for, until they change
        self.parked = False
        self.pruning_data: object = None  # what pruning has computed for its workloads

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[QueuedWorkload]:
        """Iterates in no order."""
        return iter(self._live.values())

    def copy(self) -> "EquivalenceGroup":
        copy = EquivalenceGroup(self.equivalence)
        copy._live, copy._heap, copy.parked = dict(self._live), list(self._heap), self.parked
        return copy

    def keys(self) -> KeysView[str]:
        return self._live.keys()

    def put(self, order: QueueOrder, workload: Workload) -> None:
        """The key of the workload is the last part of its order."""
        self._live[workload.key] = order, workload
        heappush(self._heap, order)
        self._first = None

    def first(self) -> QueuedWorkload:
        if self._first is None:
            self._first = self._find_first()
        return self._first

    def _find_first(self) -> QueuedWorkload:
        # Orders of removed workloads are still in the heap; one that was put again may be there twice.
        heap, live = self._heap, self._live
        while True:
            order = heap[0]
            found = live.get(order[-1])
            if found is not None and found[0] == order:
                return found
            heappop(heap)

    def remove(self, key: str) -> None:
        del self._live[key]
        self._first = None
        # Rebuilt once most of it is gone, so that a removal costs the same however many there are.
        if not self._live or len(self._heap) > 2 * len(self._live) + _GARBAGE_MAX:
            self._heap = [order for order, _ in self._live.values()]
            heapify(self._heap)

    def clear(self) -> None:
        """Removes all workloads at once."""
        self._live.clear()
        self._heap.clear()
        self._first = None


class PendingGroups:
    """Workloads of a queue that are tried together, in groups."""

    __slots__ = ("by_key", "groups")

    def __init__(self) -> None:
        self.by_key: dict[str, EquivalenceGroup] = {}  # of each workload
        self.groups: dict[EquivalenceClass, EquivalenceGroup] = {}

    def copy(self) -> "PendingGroups":
        copy = PendingGroups()
        copy.groups = {equivalence: group.copy() for equivalence, group in self.groups.items()}
        for group in copy.groups.values():
            copy.by_key.update(dict.fromkeys(group.keys(), group))
        return copy

    def put(self, equivalence: EquivalenceClass, order: QueueOrder, workload: Workload) -> None:
        group = self.groups.get(equivalence)
        if group is None:
            group = self.groups[equivalence] = EquivalenceGroup(equivalence)
        self.by_key[workload.key] = group
        group.put(order, workload)

    def remove(self, key: str) -> None:
        group = self.by_key.pop(key)
        group.remove(key)
        if not group:
            del self.groups[group.equivalence]

    def move(self, group: EquivalenceGroup, to: "PendingGroups") -> None:
        """Moves a group with all its workloads."""
        del self.groups[group.equivalence]
        taken = to.groups.setdefault(group.equivalence, group)
        for order, workload in list(group):
            del self.by_key[workload.key]
            to.by_key[workload.key] = taken
            if taken is not group:
                taken.put(order, workload)
        if taken is not group:
            group.clear()


def queue_order(workload: Workload, sticky: bool = False) -> QueueOrder:
    """The order within a queue: higher priority, then the longer wait (Kueue: baseCompareFunc). Ties end at
    the UID, and at the key where UIDs are equal.

    With `sticky`, as BestEffortFIFO has it, a workload that waits for its victims comes before all.
    """
    first = sticky and workload.preempting
    return not first, -workload.priority, workload.queued_at_ms, workload.uid, workload.key


def is_single(workload: Workload) -> bool:
    """Whether it waits for its victims, replaces an older slice, or has lost a node."""
    return bool(workload.preempting or workload.replaces or workload.unhealthy_nodes)


def equivalence_class(
    workload: Workload, by_local_queue: bool, by_run_time: bool, by_namespace: bool
) -> EquivalenceClass:
    """`by_local_queue`: in a queue whose LocalQueues go by what they used, these differ too.
    `by_run_time`: where a rule of ours goes by that, so do declared run times. `by_namespace`: in a queue
    that does not take workloads from all namespaces, so do these.

    A single workload is equivalent to no other."""
    return (
        workload.key if is_single(workload) else "",
        workload.local_queue if by_local_queue else "",
        workload.run_time_ms if by_run_time else None,
        workload.namespace if by_namespace else "",
        workload.priority,
        workload.preemption_gated,
        workload.allowed_flavors,
        workload.refused,
        _items(workload.checks),
        *map(_pods, workload.pod_sets),
    )


def _pods(pod_set: PodSet) -> Hashable:
    return (
        pod_set.name,
        pod_set.count,
        pod_set.count_min,
        pod_set.reclaimable,
        _items(pod_set.requests),
        _items(pod_set.node_selector),
        pod_set.affinity,
        pod_set.affinity_preferred,
        pod_set.tolerations,
        pod_set.topology,
    )


def _items(of: Mapping[str, object]) -> Hashable:
    """Items in any order; of one, or none, without the cost of a set."""
    return frozenset(of.items()) if len(of) > 1 else tuple(of.items())
