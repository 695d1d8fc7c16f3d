"""Groups of equivalent pending workloads: what a cycle finds for one holds for its group."""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush

from muster.admission.model import Workload
from muster.admission.queueing.equivalence import EquivalenceClass
from muster.admission.queueing.order import QueueOrder

_GARBAGE_MAX = 16  # removed workloads that a group of few still keeps


QueuedWorkload = tuple[QueueOrder, Workload]


class EquivalenceGroup:
    """Equivalent workloads of a queue, in queue order; never empty.

    The orders of removed ones stay in the heap until they come up, or until they are too many. Its queue
    drops a group that has lost its last workload, which then keeps nothing of what it held."""

    __slots__ = ("_heap", "_live", "equivalence", "known", "parked")

    def __init__(self, equivalence: EquivalenceClass) -> None:
        self.equivalence = equivalence
        self._live: dict[str, QueuedWorkload] = {}
        self._heap: list[QueueOrder] = []
        self.parked = False
        # What pruning has computed for its workloads. It is kept here so that it is gone with the group: an
        # index of its own would outlive the group, and refer to removed workloads.
        self.known: object = None

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[QueuedWorkload]:
        """Iterates in no order."""
        return iter(self._live.values())

    def put(self, order: QueueOrder, workload: Workload) -> None:
        """The key of the workload is the last part of its order."""
        self._live[workload.key] = order, workload
        heappush(self._heap, order)

    def first(self) -> QueuedWorkload:
        # A removed order is recognized by identity: the workload may have been put again with an equal one.
        heap, live = self._heap, self._live
        while True:
            order = heap[0]
            found = live.get(order[-1])
            if found is not None and found[0] is order:
                return found
            heappop(heap)

    def remove(self, key: str) -> None:
        del self._live[key]
        if not self._live or len(self._heap) > 2 * len(self._live) + _GARBAGE_MAX:
            self._heap = [order for order, _ in self._live.values()]
            heapify(self._heap)

    def clear(self) -> None:
        """Removes all workloads at once."""
        self._live.clear()
        self._heap.clear()


class PendingGroups:
    """Workloads of a queue that are tried together, in groups."""

    __slots__ = ("by_key", "groups")

    def __init__(self) -> None:
        self.by_key: dict[str, EquivalenceGroup] = {}  # of each workload
        self.groups: dict[EquivalenceClass, EquivalenceGroup] = {}

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
