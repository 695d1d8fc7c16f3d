"""Finds queues with a workload that may be admitted without looking at the others."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import inf
from typing import ClassVar

from muster.admission.model import FlavorResource
from muster.admission.pruning.feasibility import Bound, Feasibility, QueueUsage
from muster.admission.pruning.protocol import Pruning
from muster.admission.queueing.groups import EquivalenceClass, EquivalenceGroup, is_single
from muster.admission.queueing.pending import PendingQueue
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.state import WorkingState

_Entry = tuple[float, int, PendingQueue]
_Line = list[_Entry]
"""For a resource: the most that may be used of it for a queue to have a feasible workload, and the queue's
number; sorted."""

_KNOWN_MAX = 1024  # equivalence classes


class WakeIndex(Pruning):
    """An index of the queues of a contention group.

    For a queue without a feasible workload the bounds are known that all of them exceed: it is not looked at
    again before that changes. Any other queue with workloads may have a feasible one."""

    bounds_preemption: ClassVar[bool] = True

    __slots__ = (
        "_awake",
        "_bounds",
        "_branches",
        "_known",
        "_lines",
        "_numbers",
        "_queue_usages",
        "_queues",
        "_roots",
    )

    def __init__(self, state: WorkingState, queues: Mapping[str, PendingQueue]) -> None:
        self._queues = list(queues.values())
        self._numbers = {name: number for number, name in enumerate(queues)}
        self._queue_usages = [QueueUsage(state, queue.node) for queue in self._queues]
        self._branches = _by_branch(self._queues)
        self._known: dict[tuple[int, EquivalenceClass], Feasibility] = {}  # by queue; the oldest first
        self._roots = list(dict.fromkeys(queue.node.root for queue in self._queues))
        self._awake = {number: queue for number, queue in enumerate(self._queues) if len(queue)}
        self._bounds: dict[int, list[tuple[_Line, float]]] = {}  # of the others: their lines in the index
        self._lines: dict[QuotaNode, dict[FlavorResource, _Line]] = {root: {} for root in self._roots}

    def changed(self, queue: str) -> None:
        """Forgets the bounds of a queue whose pending workloads have changed."""
        self._forget(self._numbers[queue])

    def possible(self) -> dict[PendingQueue, None]:
        """Queues that may have a feasible workload; the others have none."""
        self.refresh()
        found = dict.fromkeys(self._awake.values())
        for root, lines in self._lines.items():
            used = root.usage
            for fr, line in lines.items():
                for _, _, queue in line[bisect_left(line, (used.get(fr, 0),)) :]:
                    found[queue] = None
        return found

    def has_candidate(self, queue: PendingQueue) -> bool:
        """Whether a possible queue really has a feasible workload; if not, remembers its bounds."""
        bounds: dict[FlavorResource, float] = {}
        for group in queue.groups:
            obstacles = self.feasibility(queue, group).obstacles()
            if obstacles is None:
                return True
            for fr, most in obstacles:
                # The queue is to be looked at as soon as the first of its groups may be feasible.
                bounds[fr] = max(most, bounds.get(fr, -inf))
        self._keep(queue, bounds.items())
        return False

    def feasibility(self, queue: PendingQueue, group: EquivalenceGroup) -> Feasibility:
        known = group.pruning_data
        if not isinstance(known, Feasibility):
            known = group.pruning_data = self._feasibility(self._numbers[queue.queue.name], group)
        return known

    def _feasibility(self, number: int, group: EquivalenceGroup) -> Feasibility:
        """Returns what was computed for an equal group, if the queue had one before: where workloads are
        admitted as they arrive, every one has a group of its own."""
        found = self._known.get((number, group.equivalence))
        if found is None:
            _, alike = group.first()
            found = Feasibility(self._queue_usages[number], alike)
            if not is_single(alike):
                if len(self._known) >= _KNOWN_MAX:
                    del self._known[next(iter(self._known))]
                self._known[number, group.equivalence] = found
        return found

    def refresh(self) -> None:
        """Forgets bounds that usage below the root has changed; call it when quota may have been taken or
        released."""
        for root in self._roots:
            for node in root.take_changed():
                for number in self._branches.get(_branch(node), ()):
                    if self._queue_usages[number].renew():
                        self._forget(number)

    def _keep(self, queue: PendingQueue, bounds: Iterable[Bound]) -> None:
        number = self._numbers[queue.queue.name]
        self._forget(number)
        self._awake.pop(number, None)
        lines = self._lines[queue.node.root]
        # -inf: no usage at the root is low enough. Only a change below it can help, which `refresh` finds.
        kept = [(lines.setdefault(fr, []), most) for fr, most in bounds if most > -inf]
        for line, most in kept:
            insort(line, (most, number, queue))
        self._bounds[number] = kept

    def _forget(self, number: int) -> None:
        # An empty queue is woken by the workload that comes (`changed`).
        if len(self._queues[number]):
            self._awake[number] = self._queues[number]
        for line, most in self._bounds.pop(number, ()):
            del line[bisect_left(line, (most, number))]


def _by_branch(queues: Iterable[PendingQueue]) -> dict[QuotaNode, list[int]]:
    """Queues by the highest cohort below the root that they have in common."""
    found: dict[QuotaNode, list[int]] = defaultdict(list)
    for number, queue in enumerate(queues):
        found[_branch(queue.node)].append(number)
    return found


def _branch(node: QuotaNode) -> QuotaNode:
    return node.lineage[-2] if node.parent else node
