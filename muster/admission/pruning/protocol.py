"""Questions that the engine has before it tries a workload.

With TryEverything the answer is always "try it": read the rules that decide with that in mind.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import ClassVar, Protocol

from muster.admission.cycle.assignment_cache import AssignmentCache
from muster.admission.queueing.groups import EquivalenceGroup
from muster.admission.queueing.pending import PendingQueue
from muster.admission.state.state import WorkingState


class Estimate(Enum):
    """Whether a workload of a group could be admitted now."""

    INFEASIBLE = auto()  # nothing that a cycle could do would admit it
    POSSIBLE = auto()
    FITS = auto()  # there is room for one, and only one way to admit it


class GroupEstimate(Protocol):
    """Knowledge about all workloads of an equivalence group, and of equal groups of its queue."""

    @property
    def assignment_cache(self) -> AssignmentCache | None: ...

    @property
    def room_decides(self) -> bool:
        """Whether room is all that one needs to be admitted."""

    @property
    def tries_once(self) -> bool:
        """Whether one has tried all its flavors after one cycle."""

    def estimate(self) -> Estimate: ...

    def fits(self) -> bool:
        """Whether the estimate is FITS."""

    def borrowing(self) -> int:
        """The borrowing distance of one that fits."""


class Pruning(Protocol):
    """Tells which queues of a contention group, by name, may have a workload that can be admitted."""

    bounds_preemption: ClassVar[bool]
    """Whether victims are searched only where preemption/bound.py allows it."""

    def __init__(self, state: WorkingState, queues: Mapping[str, PendingQueue]) -> None: ...

    def changed(self, queue: str) -> None:
        """Takes note that pending workloads of the queue have changed."""

    def refresh(self) -> None:
        """Takes note that quota may have been taken or released."""

    def possible(self) -> Mapping[PendingQueue, None]:
        """The queues that may have a workload that can be admitted: no other queue has one."""

    def has_candidate(self, queue: PendingQueue) -> bool:
        """Whether the queue has a group that is not infeasible; if not, it is not possible from now on."""

    def feasibility(self, queue: PendingQueue, group: EquivalenceGroup) -> GroupEstimate: ...
