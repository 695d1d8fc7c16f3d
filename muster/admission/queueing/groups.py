"""Pending workloads that are alike, in groups: what a cycle learns of one holds for its group."""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Any

from muster.admission.model import Workload
from muster.admission.queueing.order import QueueOrder
from muster.admission.queueing.shape import Shape

_GARBAGE_MAX = 16  # removed workloads that a group of few still keeps


Standing = tuple[QueueOrder, Workload]


class Group:
    """Workloads of a line that are alike, in queue order; never empty.

    The orders of removed ones stay in the heap until they come up, or until they are too many."""

    __slots__ = ("_heap", "_live", "alike", "parked", "prospect")

    def __init__(self, alike: Shape) -> None:
        self.alike = alike
        self._live: dict[str, Standing] = {}
        self._heap: list[QueueOrder] = []
        self.parked = False
        self.prospect: Any = None  # what whoever tries them knows of all of them

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[Standing]:
        """In no order."""
        return iter(self._live.values())

    def put(self, order: QueueOrder, workload: Workload) -> None:
        """The key of the workload is the last part of its order."""
        self._live[workload.key] = order, workload
        heappush(self._heap, order)

    def first(self) -> Standing:
        heap, live = self._heap, self._live
        while True:
            order = heap[0]
            found = live.get(order[-1])
            if found is not None and found[0] is order:
                return found
            heappop(heap)

    def remove(self, key: str) -> None:
        del self._live[key]
        if len(self._heap) > 2 * len(self._live) + _GARBAGE_MAX:
            self._heap = [order for order, _ in self._live.values()]
            heapify(self._heap)


class Line:
    """Workloads of a queue that are tried together, in groups."""

    __slots__ = ("by_key", "groups")

    def __init__(self) -> None:
        self.by_key: dict[str, Group] = {}  # of each workload
        self.groups: dict[Shape, Group] = {}

    def put(self, alike: Shape, order: QueueOrder, workload: Workload) -> None:
        group = self.groups.get(alike)
        if group is None:
            group = self.groups[alike] = Group(alike)
        self.by_key[workload.key] = group
        group.put(order, workload)

    def remove(self, key: str) -> None:
        group = self.by_key.pop(key)
        group.remove(key)
        if not group:
            del self.groups[group.alike]

    def hand_over(self, group: Group, to: "Line") -> None:
        """All of it."""
        del self.groups[group.alike]
        taken = to.groups.setdefault(group.alike, group)
        for order, workload in list(group):
            del self.by_key[workload.key]
            to.by_key[workload.key] = taken
            if taken is not group:
                taken.put(order, workload)
