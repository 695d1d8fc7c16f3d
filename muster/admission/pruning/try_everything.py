"""Disables pruning: every group of every queue is tried."""

from collections.abc import Mapping
from typing import ClassVar

from muster.admission.pruning.protocol import Estimate, GroupEstimate, Pruning
from muster.admission.queueing.groups import EquivalenceGroup
from muster.admission.queueing.pending import PendingQueue
from muster.admission.state.state import WorkingState


class NoEstimate(GroupEstimate):
    """A group without an estimate."""

    __slots__ = ()

    def __init__(self) -> None:
        self.assignment_cache = None
        self.needs_only_quota = self.tries_once = False

    def estimate(self) -> Estimate:
        return Estimate.POSSIBLE

    def fits(self) -> bool:
        return False

    def borrowing(self) -> int:
        return 0


class TryEverything(Pruning):
    """Pruning that excludes no workload, to test and to read the engine without bounds."""

    bounds_preemption: ClassVar[bool] = False

    __slots__ = ("_queues",)

    def __init__(self, state: WorkingState, queues: Mapping[str, PendingQueue]) -> None:
        self._queues = queues

    def changed(self, queue: str) -> None:
        """Does nothing, as it has no state."""

    def refresh(self) -> None:
        """Does nothing, as it has no state."""

    def possible(self) -> dict[PendingQueue, None]:
        return dict.fromkeys(queue for queue in self._queues.values() if len(queue))

    def has_candidate(self, queue: PendingQueue) -> bool:
        return len(queue) > 0

    def feasibility(self, queue: PendingQueue, group: EquivalenceGroup) -> NoEstimate:
        return NoEstimate()
