"""A pruning that counts its calls, and answers as the default one does."""

from collections.abc import Mapping
from typing import ClassVar

from muster.admission import Engine, Snapshot
from muster.admission.cycle.assignment_cache import AssignmentCache
from muster.admission.flavors.assignment import Assignment
from muster.admission.pruning.protocol import Estimate, GroupEstimate, Pruning
from muster.admission.pruning.wake_index import WakeIndex
from muster.admission.queueing.groups import EquivalenceGroup
from muster.admission.queueing.pending import PendingQueue
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import NOW_MS, admitted


class Effort:
    """An engine with the effort of its last decision."""

    def __init__(self, of: Snapshot) -> None:
        self.asked: set[str] = set()  # queues that are asked for an estimate
        self.tried: list[str] = []  # heads for which flavors are searched
        self.estimates: list[Estimate] = []
        self.engine = Engine(of, pruning=_counting(self))

    def decision(self) -> tuple[list[str], set[str], list[str]]:
        """Decides, and returns the admissions, the queues that are asked and the heads that are tried."""
        self.asked.clear()
        self.tried.clear()
        return admitted(self.engine.decide(NOW_MS)), set(self.asked), list(self.tried)


def _counting(effort: Effort) -> type[Pruning]:
    class Counting(Pruning):
        bounds_preemption: ClassVar[bool] = True

        def __init__(self, state: WorkingState, queues: Mapping[str, PendingQueue]) -> None:
            self._index = WakeIndex(state, queues)

        def changed(self, queue: str) -> None:
            self._index.changed(queue)

        def refresh(self) -> None:
            self._index.refresh()

        def possible(self) -> dict[PendingQueue, None]:
            return self._index.possible()

        def has_candidate(self, queue: PendingQueue) -> bool:
            effort.asked.add(queue.queue.name)
            return self._index.has_candidate(queue)

        def feasibility(self, queue: PendingQueue, group: EquivalenceGroup) -> GroupEstimate:
            return _CountedEstimate(self._index.feasibility(queue, group), queue, effort)

    return Counting


class _CountedEstimate(GroupEstimate):
    def __init__(self, estimate: GroupEstimate, queue: PendingQueue, effort: Effort) -> None:
        self._estimate, self._queue, self._effort = estimate, queue, effort
        self.needs_only_quota, self.tries_once = estimate.needs_only_quota, estimate.tries_once
        cache = estimate.assignment_cache
        self.assignment_cache = None if cache is None else _CountedCache(cache, queue, effort)

    def fits(self) -> bool:
        return self._estimate.fits()

    def borrowing(self) -> int:
        return self._estimate.borrowing()

    def estimate(self) -> Estimate:
        self._effort.asked.add(self._queue.queue.name)
        self._effort.estimates.append(self._estimate.estimate())
        return self._effort.estimates[-1]


class _CountedCache(AssignmentCache):
    """Records heads for which the cache has no assignment."""

    __slots__ = ("_cache", "_effort", "_queue")

    def __init__(self, cache: AssignmentCache, queue: PendingQueue, effort: Effort) -> None:
        super().__init__()
        self._cache, self._queue, self._effort = cache, queue, effort
        self.assignment = cache.assignment

    def lookup(self, node: QuotaNode) -> Assignment | None:
        hit, head = self._cache.lookup(node), self._queue.head()
        if hit is None and head is not None:
            self._effort.tried.append(head.key.removeprefix("ns/"))
        return hit

    def store(self, assignment: Assignment) -> None:
        self._cache.store(assignment)
