"""Grades of flavors, which of two flavors is preferred, and when the search for one stops.

Kueue: granularMode, isPreferred and shouldTryNextFlavor in pkg/scheduler/flavorassigner. Its
code's meaning of the preference counts, not the comments of its API, which are swapped.
"""

from enum import IntEnum
from typing import NamedTuple

from muster.admission.model import ClusterQueue, FungibilityPolicy, FungibilityPreference


class Mode(IntEnum):
    """Ways to admit a workload with a flavor, worst first."""

    NO_FIT = 0
    NO_CANDIDATES = 1  # by preemption, but nothing may be preempted
    PREEMPT = 2
    RECLAIM = 3  # by preemption in other queues only
    FIT = 4


class Grade(NamedTuple):
    """A mode, and from how far away quota is borrowed (QuotaNode.borrowing_level)."""

    mode: Mode
    borrowing: int

    def preferred_to(self, other: "Grade", preference: FungibilityPreference | None) -> bool:
        """A flavor that does not fit now is worse than all others; then the preference decides.

        BorrowingOverPreemption, the default, looks at the mode first; PreemptionOverBorrowing at
        the distance first.
        """
        if self.mode is Mode.NO_FIT or other.mode is Mode.NO_FIT:
            return self.mode is not Mode.NO_FIT
        if (self.mode is Mode.NO_CANDIDATES) is not (other.mode is Mode.NO_CANDIDATES):
            return other.mode is Mode.NO_CANDIDATES
        if preference is FungibilityPreference.PREEMPTION_OVER_BORROWING:
            return (-self.borrowing, self.mode) > (-other.borrowing, other.mode)
        return (self.mode, -self.borrowing) > (other.mode, -other.borrowing)

    def stops_search(self, queue: ClusterQueue) -> bool:
        """Whether no better flavor is looked for, by the queue's policies."""
        if self.mode is not Mode.FIT and (
            self.mode < Mode.PREEMPT or queue.when_can_preempt is FungibilityPolicy.TRY_NEXT_FLAVOR
        ):
            return False
        return self.borrowing == 0 or queue.when_can_borrow is FungibilityPolicy.MAY_STOP_SEARCH


BEST = Grade(Mode.FIT, 0)
NO_FIT = Grade(Mode.NO_FIT, 0)
