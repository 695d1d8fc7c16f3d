"""An index that finds the queues with a workload that may be admitted, without a scan of all queues."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import inf
from typing import ClassVar

from muster.admission.model import FlavorResource
from muster.admission.pruning.feasibility import Bound, Feasibility, QueueUsage
from muster.admission.pruning.protocol import Pruning
from muster.admission.queueing.groups import EquivalenceClass, EquivalenceGroup
from muster.admission.queueing.pending import PendingQueue
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.state import WorkingState

_Entry = tuple[float, int, PendingQueue]
_Line = list[_Entry]
"""The entries of a resource, sorted: the maximum usage at which a queue has a feasible workload, and the
queue's number."""

_CACHED_MAX = 1024  # equivalence classes


class WakeIndex(Pruning):
    """An index of the queues of a contention group.

    For a queue without a feasible workload the index has the bounds that its workloads exceed: the queue is
    skipped until one is no longer exceeded. Any other queue with workloads may have a feasible one."""

    bounds_preemption: ClassVar[bool] = True

    __slots__ = (
        "_awake",
        "_bounds",
        "_branches",
        "_cache",
        "_lines",
        "_numbers",
        "_possible",
        "_queue_usages",
        "_queues",
        "_roots",
    )

    def __init__(self, state: WorkingState, queues: Mapping[str, PendingQueue]) -> None:
        self._queues = list(queues.values())
        self._numbers = {name: number for number, name in enumerate(queues)}
        self._queue_usages = [QueueUsage(state, queue.node) for queue in self._queues]
        self._branches = _by_branch(self._queues)
        self._cache: dict[tuple[int, EquivalenceClass], Feasibility] = {}  # by queue; the oldest first
        self._roots = list(dict.fromkeys(queue.node.root for queue in self._queues))
        # Queues without bounds, as they were never checked or have changed since.
        self._awake = {number: queue for number, queue in enumerate(self._queues) if len(queue)}
        # For each other queue, its entries in `_lines`, so that they can be removed without a search.
        self._bounds: dict[int, list[tuple[_Line, float]]] = {}
        # Bounds are compared with the usage at the root alone: what is below it is part of the bound, and
        # `refresh` drops the bounds of a branch whose usage has changed.
        self._lines: dict[QuotaNode, dict[FlavorResource, _Line]] = {root: {} for root in self._roots}
        # The result of the last `possible`; None after a change of bounds or of usage.
        self._possible: dict[PendingQueue, None] | None = None

    def changed(self, queue: str) -> None:
        """Removes the bounds of a queue whose pending workloads have changed."""
        self._forget(self._numbers[queue])

    def possible(self) -> dict[PendingQueue, None]:
        """Returns the queues that may have a feasible workload; the others have none."""
        self.refresh()
        if self._possible is not None:
            return self._possible
        queues = dict.fromkeys(self._awake.values())
        for root, lines in self._lines.items():
            used = root.usage
            for fr, line in lines.items():
                # Sorted by bound: all entries from the current usage on are no longer exceeded.
                for _, _, queue in line[bisect_left(line, (used.get(fr, 0),)) :]:
                    queues[queue] = None
        self._possible = queues
        return queues

    def has_candidate(self, queue: PendingQueue) -> bool:
        """Returns whether a possible queue has a feasible workload; if not, stores its bounds."""
        bounds: dict[FlavorResource, float] = {}
        for group in queue.groups:
            obstacles = self.feasibility(queue, group).obstacles()
            if obstacles is None:
                return True
            for fr, most in obstacles:
                # The queue wakes as soon as any of its groups may be feasible.
                bounds[fr] = max(most, bounds.get(fr, -inf))
        self._store(queue, bounds.items())
        return False

    def feasibility(self, queue: PendingQueue, group: EquivalenceGroup) -> Feasibility:
        feasibility = group.pruning_data
        if not isinstance(feasibility, Feasibility):
            feasibility = group.pruning_data = self._feasibility(self._numbers[queue.queue.name], group)
        return feasibility

    def _feasibility(self, number: int, group: EquivalenceGroup) -> Feasibility:
        """Returns the cached result of an earlier equal group of the queue, if there is one: if workloads are
        admitted as they arrive, each has a new group."""
        _, alike = group.first()
        equivalence = group.equivalence
        # A workload that preempts is a group of its own, but needs what its former group needs.
        if alike.preempting:
            equivalence = ("", *equivalence[1:])
        if alike.replaces or alike.unhealthy_nodes:
            return Feasibility(self._queue_usages[number], alike)
        feasibility = self._cache.get((number, equivalence))
        if feasibility is None:
            feasibility = Feasibility(self._queue_usages[number], alike)
            if len(self._cache) >= _CACHED_MAX:
                del self._cache[next(iter(self._cache))]
            self._cache[number, equivalence] = feasibility
        return feasibility

    def refresh(self) -> None:
        """Removes bounds that changed usage below the root has invalidated; call it when quota may have been
        assigned or released."""
        for root in self._roots:
            for node in root.take_changed():
                self._possible = None
                for number in self._branches.get(_branch(node), ()):
                    if self._queue_usages[number].renew():
                        self._forget(number)

    def _store(self, queue: PendingQueue, bounds: Iterable[Bound]) -> None:
        number = self._numbers[queue.queue.name]
        self._forget(number)  # of earlier bounds
        self._awake.pop(number, None)
        lines = self._lines[queue.node.root]
        # -inf: no usage at the root is low enough. Only a change below the root can help; `refresh` finds it.
        entries = [(lines.setdefault(fr, []), most) for fr, most in bounds if most > -inf]
        for line, most in entries:
            insort(line, (most, number, queue))
        self._bounds[number] = entries

    def _forget(self, number: int) -> None:
        self._possible = None
        # An empty queue wakes when a workload is added (`changed`).
        if len(self._queues[number]):
            self._awake[number] = self._queues[number]
        for line, most in self._bounds.pop(number, ()):
            del line[bisect_left(line, (most, number))]


def _by_branch(queues: Iterable[PendingQueue]) -> dict[QuotaNode, list[int]]:
    """Groups the queues' numbers by their highest cohort below the root."""
    branches: dict[QuotaNode, list[int]] = defaultdict(list)
    for number, queue in enumerate(queues):
        branches[_branch(queue.node)].append(number)
    return branches


def _branch(node: QuotaNode) -> QuotaNode:
    return node.lineage[-2] if node.parent else node
