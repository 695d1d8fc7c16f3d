"""Groups of equivalent pending workloads (Kueue: scheduling equivalence, computeSchedulingHash in
pkg/workload).

Equivalent workloads of a queue differ only in age and name. If one does not fit, the others do not fit
either, so all are parked together. Preemption does not break this: a newer workload may preempt at most the
candidates of an older one.
"""

from collections.abc import Hashable, Iterator, KeysView, Mapping
from heapq import heapify, heappop, heappush

from muster.admission.model import PodSet, Workload

EquivalenceClass = tuple[Hashable, ...]
QueueOrder = tuple[bool, int, int, str, str]
QueuedWorkload = tuple[QueueOrder, Workload]

_GARBAGE_MAX = 16  # removed workloads in the heap of a small group


class EquivalenceGroup:
    """Equivalent workloads of a queue, in queue order; never empty.

    Entries of removed workloads remain in the heap until they reach its top or are too many. The queue drops
    a group with its last workload."""

    __slots__ = ("_first", "_heap", "_live", "equivalence", "parked", "pruning_data", "waits")

    def __init__(self, equivalence: EquivalenceClass) -> None:
        self.equivalence = equivalence
        self._live: dict[str, QueuedWorkload] = {}
        self._heap: list[QueueOrder] = []
        self._first: QueuedWorkload | None = None  # cached until a change
        self.parked = False
        self.waits = False  # parked, as its first workload waits for its targets
        self.pruning_data: object = None  # a cache of muster/admission/pruning

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[QueuedWorkload]:
        """Iterates in arbitrary order."""
        return iter(self._live.values())

    def copy(self) -> "EquivalenceGroup":
        """Returns an independent copy with the same workloads."""
        copy = EquivalenceGroup(self.equivalence)
        copy._live, copy._heap = dict(self._live), list(self._heap)
        copy.parked, copy.waits = self.parked, self.waits
        return copy

    def keys(self) -> KeysView[str]:
        """Returns the keys of its workloads."""
        return self._live.keys()

    def put(self, order: QueueOrder, workload: Workload) -> None:
        """Adds a workload; the last part of its order is its key."""
        self._live[workload.key] = order, workload
        heappush(self._heap, order)
        self._first = None

    def first(self) -> QueuedWorkload:
        """Returns the first workload in queue order, with its order."""
        if self._first is None:
            self._first = self._find_first()
        return self._first

    def _find_first(self) -> QueuedWorkload:
        # The heap still has entries of removed workloads, and two of a workload that was added again.
        heap, live = self._heap, self._live
        while True:
            order = heap[0]
            queued = live.get(order[-1])
            if queued is not None and queued[0] == order:
                return queued
            heappop(heap)

    def remove(self, key: str) -> None:
        """Removes a workload; its heap entry remains until it reaches the top."""
        del self._live[key]
        self._first = None
        # Rebuilt when most entries are removed: constant amortized cost per removal.
        if not self._live or len(self._heap) > 2 * len(self._live) + _GARBAGE_MAX:
            self._heap = [order for order, _ in self._live.values()]
            heapify(self._heap)

    def clear(self) -> None:
        """Removes all workloads."""
        self._live.clear()
        self._heap.clear()
        self._first = None


class PendingGroups:
    """Workloads of a queue in groups that are tried together."""

    __slots__ = ("by_key", "groups")

    def __init__(self) -> None:
        self.by_key: dict[str, EquivalenceGroup] = {}  # of each workload
        self.groups: dict[EquivalenceClass, EquivalenceGroup] = {}

    def copy(self) -> "PendingGroups":
        """Returns an independent copy."""
        copy = PendingGroups()
        copy.groups = {equivalence: group.copy() for equivalence, group in self.groups.items()}
        for group in copy.groups.values():
            copy.by_key.update(dict.fromkeys(group.keys(), group))
        return copy

    def put(self, equivalence: EquivalenceClass, order: QueueOrder, workload: Workload) -> None:
        """Adds a workload to the group of its equivalence class."""
        group = self.groups.get(equivalence)
        if group is None:
            group = self.groups[equivalence] = EquivalenceGroup(equivalence)
        self.by_key[workload.key] = group
        group.put(order, workload)

    def remove(self, key: str) -> None:
        """Removes a workload, and its group if it was the last one."""
        group = self.by_key.pop(key)
        group.remove(key)
        if not group:
            del self.groups[group.equivalence]

    def move(self, group: EquivalenceGroup, to: "PendingGroups") -> None:
        """Moves a group with all its workloads; merges it with an equivalent one."""
        del self.groups[group.equivalence]
        target = to.groups.setdefault(group.equivalence, group)
        for order, workload in list(group):
            del self.by_key[workload.key]
            to.by_key[workload.key] = target
            if target is not group:
                target.put(order, workload)
        if target is not group:
            group.clear()


def queue_order(workload: Workload, sticky: bool = False) -> QueueOrder:
    """Returns the order within a queue: higher priority, then earlier queueing (Kueue: baseCompareFunc); the
    UID breaks ties, and then the key.

    With `sticky`, as in BestEffortFIFO, a workload with preemption in progress comes first.
    """
    first = sticky and workload.preempting
    return not first, -workload.priority_rank, workload.queued_at_ms, workload.uid, workload.key


def is_single(workload: Workload) -> bool:
    """Returns whether preemption is in progress for it, it replaces a slice, or a node of it failed."""
    return bool(workload.preempting or workload.replaces or workload.unhealthy_nodes)


def equivalence_class(
    workload: Workload, by_local_queue: bool, by_run_time: bool, by_namespace: bool
) -> EquivalenceClass:
    """Returns the equivalence class of a workload; a single workload has its own.

    `by_local_queue`: for usage-based queues. `by_run_time`: for rules that use declared run times.
    `by_namespace`: for queues with a namespaceSelector."""
    return (
        workload.key if is_single(workload) else "",
        workload.local_queue if by_local_queue else "",
        workload.run_time_ms if by_run_time else None,
        workload.namespace if by_namespace else "",
        workload.priority,
        workload.surplus_of,
        workload.over_budget,
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
        pod_set.node_requests is None or _items(pod_set.node_requests),
        _items(pod_set.node_selector),
        pod_set.affinity,
        pod_set.affinity_preferred,
        pod_set.tolerations,
        pod_set.topology,
    )


def _items(mapping: Mapping[str, object]) -> Hashable:
    """Returns the items regardless of their order; a tuple if there is at most one, as sets cost more."""
    return frozenset(mapping.items()) if len(mapping) > 1 else tuple(mapping.items())
