"""The interface of pruning, which the engine queries before it tries a workload.

The rules of admission do not depend on it: TryEverything tries every workload. These are abstract classes and
not protocols, as the compiled core calls methods of a protocol only through Python.
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
    """The estimate whether a workload of a group could be admitted now."""

    INFEASIBLE = auto()  # no cycle can admit it, even with preemption
    POSSIBLE = auto()
    FITS = auto()  # it fits, with the only possible assignment


class GroupEstimate(ABC):
    """The estimate for all workloads of an equivalence group, and for equal groups of its queue.

    `needs_only_quota`: a workload is admitted if its quota fits. `tries_once`: one cycle tries all its
    flavors."""

    __slots__ = ("assignment_cache", "needs_only_quota", "tries_once")

    assignment_cache: AssignmentCache | None
    needs_only_quota: bool
    tries_once: bool

    @abstractmethod
    def estimate(self) -> Estimate:
        """Returns whether a workload of the group may be admitted now."""

    @abstractmethod
    def fits(self) -> bool:
        """Returns whether the estimate is FITS."""

    @abstractmethod
    def borrowing(self) -> int:
        """Returns the borrowing distance of a workload that fits."""


class Pruning(ABC):
    """Finds the queues of a contention group that may have a workload to admit."""

    bounds_preemption: ClassVar[bool]
    """True if targets are searched only when preemption/bound.py does not exclude them."""

    __slots__ = ()

    # Not abstract: mypyc compiles no abstract constructor with arguments.
    def __init__(self, state: WorkingState, queues: Mapping[str, PendingQueue]) -> None:
        raise NotImplementedError

    @abstractmethod
    def changed(self, queue: str) -> None:
        """Records that pending workloads of the queue have changed."""

    @abstractmethod
    def refresh(self) -> None:
        """Updates the bounds after quota may have been assigned or released."""

    @abstractmethod
    def possible(self) -> dict[PendingQueue, None]:
        """Returns the queues that may have a workload to admit; no other queue has one."""

    @abstractmethod
    def has_candidate(self, queue: PendingQueue) -> bool:
        """Returns whether the queue has a group that is not infeasible; if not, removes it from
        `possible`."""

    @abstractmethod
    def feasibility(self, queue: PendingQueue, group: EquivalenceGroup) -> GroupEstimate:
        """Returns the estimate for a group of the queue."""
