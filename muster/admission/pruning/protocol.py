"""Questions that the engine has before it tries a workload.

With TryEverything the answer is always "try it": read the rules that decide with that in mind.
These are abstract classes, as the compiled core calls their methods directly, those of protocols through
Python.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum, auto
from typing import ClassVar

from muster.admission.cycle.assignment_cache import AssignmentCache
from muster.admission.queueing.groups import EquivalenceGroup
from muster.admission.queueing.pending import PendingQueue
from muster.admission.state.state import WorkingState


class Estimate(Enum):
    """Whether a workload of a group could be admitted now."""

    INFEASIBLE = auto()  # nothing that a cycle could do would admit it
    POSSIBLE = auto()
    FITS = auto()  # there is room for one, and only one way to admit it


class GroupEstimate(ABC):
    """Knowledge about all workloads of an equivalence group, and of equal groups of its queue.

    `room_decides`: room is all that one needs to be admitted. `tries_once`: one has tried all its flavors
    after one cycle."""

    __slots__ = ("assignment_cache", "room_decides", "tries_once")

    assignment_cache: AssignmentCache | None
    room_decides: bool
    tries_once: bool

    @abstractmethod
    def estimate(self) -> Estimate: ...

    @abstractmethod
    def fits(self) -> bool:
        """Whether the estimate is FITS."""

    @abstractmethod
    def borrowing(self) -> int:
        """The borrowing distance of one that fits."""


class Pruning(ABC):
    """Tells which queues of a contention group, by name, may have a workload that can be admitted."""

    bounds_preemption: ClassVar[bool]
    """Whether victims are searched only where preemption/bound.py allows it."""

    __slots__ = ()

    # Not abstract: mypyc compiles no abstract constructor with arguments.
    def __init__(self, state: WorkingState, queues: Mapping[str, PendingQueue]) -> None:
        raise NotImplementedError

    @abstractmethod
    def changed(self, queue: str) -> None:
        """Takes note that pending workloads of the queue have changed."""

    @abstractmethod
    def refresh(self) -> None:
        """Takes note that quota may have been taken or released."""

    @abstractmethod
    def possible(self) -> dict[PendingQueue, None]:
        """The queues that may have a workload that can be admitted: no other queue has one."""

    @abstractmethod
    def has_candidate(self, queue: PendingQueue) -> bool:
        """Whether the queue has a group that is not infeasible; if not, it is not possible from now on."""

    @abstractmethod
    def feasibility(self, queue: PendingQueue, group: EquivalenceGroup) -> GroupEstimate: ...
