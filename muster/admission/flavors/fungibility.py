"""Flavor fungibility: grades of flavors, their order, and when the search stops.

Kueue: granularMode, isPreferred and shouldTryNextFlavor in pkg/scheduler/flavorassigner. The preference has
the meaning of Kueue's code; the comments of its API swap the values.
"""

from enum import IntEnum
from typing import NamedTuple

from muster.admission.model import ClusterQueue, FungibilityPolicy, FungibilityPreference


class Mode(IntEnum):
    """Ways in which a flavor fits a workload, worst first."""

    NO_FIT = 0
    NO_CANDIDATES = 1  # needs preemption, but has no candidates
    PREEMPT = 2
    RECLAIM = 3  # preempts in other queues only
    FIT = 4


class Grade(NamedTuple):
    """A mode, and the distance from which quota is borrowed (QuotaNode.borrowing_level)."""

    mode: Mode
    borrowing: int

    def preferred_to(self, other: "Grade", preference: FungibilityPreference | None) -> bool:
        """Returns whether this grade is better; modes without a fit are worse than all others.

        BorrowingOverPreemption, the default, compares modes first; PreemptionOverBorrowing compares distances
        first.
        """
        if self.mode is Mode.NO_FIT or other.mode is Mode.NO_FIT:
            return self.mode is not Mode.NO_FIT
        if (self.mode is Mode.NO_CANDIDATES) is not (other.mode is Mode.NO_CANDIDATES):
            return other.mode is Mode.NO_CANDIDATES
        if preference is FungibilityPreference.PREEMPTION_OVER_BORROWING:
            return (-self.borrowing, self.mode) > (-other.borrowing, other.mode)
        return (self.mode, -self.borrowing) > (other.mode, -other.borrowing)

    def stops_search(self, queue: ClusterQueue) -> bool:
        """Returns whether the queue's policies accept the flavor without trying others."""
        if self.mode is not Mode.FIT and (
            self.mode < Mode.PREEMPT or queue.when_can_preempt is FungibilityPolicy.TRY_NEXT_FLAVOR
        ):
            return False
        return self.borrowing == 0 or queue.when_can_borrow is FungibilityPolicy.MAY_STOP_SEARCH


BEST = Grade(Mode.FIT, 0)
NO_FIT = Grade(Mode.NO_FIT, 0)
