"""Flavors that were tried, the obstacle of each, and where the search ended: the data of explanations.

The next cycle continues where the search ended (Kueue: LastTriedFlavorIdx of AssignmentClusterQueueState in
pkg/workload). Whether that still holds is decided by the cycle."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from muster.admission.flavors.fungibility import Grade, Mode
from muster.admission.model import FlavorResource

ALL_TRIED = -1


@dataclass(frozen=True, slots=True)
class ScanProgress:
    """The end of the search for each pod set that was looked at, in order: by resource, the index in its
    resource group of the flavor at which the search ended, or ALL_TRIED if that was the last one."""

    tried: tuple[Mapping[str, int], ...] = ()

    @property
    def pending(self) -> bool:
        """Whether some flavor was not tried: the workload is not to be parked yet (PendingFlavors)."""
        return any(index != ALL_TRIED for of in self.tried for index in of.values())

    def start(self, pod_set: int, resource: str) -> int:
        """The index of the flavor to begin with."""
        if pod_set >= len(self.tried):
            return 0
        return self.tried[pod_set].get(resource, ALL_TRIED) + 1


class Obstacle(IntEnum):
    """Reasons against a flavor, the least severe first (Kueue: reasonSeverity)."""

    TOPOLOGY = 1  # its pods find no places near each other
    QUOTA = 2  # in use
    CAPACITY = 3  # more than the queue could ever use
    MISMATCH = 4  # the pods can not run there


class Shortage(NamedTuple):
    """A quantity that a flavor can not give now."""

    flavor_resource: FlavorResource
    needed: int  # by the workload in all: for its earlier pod sets and for this one
    earlier: int  # the part for earlier pod sets
    headroom: int  # what there is: left now, or at most ever
    obstacle: Obstacle  # QUOTA or CAPACITY


class Attempt(NamedTuple):
    """A flavor that was tried for the resources of a group, in the end chosen or not."""

    flavor: str
    grade: Grade  # of the worst resource
    grades: Mapping[str, Grade] = {}  # by resource; none where the pods do not match
    shortages: tuple[Shortage, ...] = ()
    mismatch: str = ""  # the end of a sentence about the flavor
    excluded: bool = False  # not meant for the workload: nothing that could be cured

    @property
    def borrowing(self) -> int:
        return max((grade.borrowing for grade in self.grades.values()), default=0)

    @property
    def obstacle(self) -> Obstacle | None:
        """The reason against the flavor; None if it fits, be it by preemption."""
        if self.grade.mode is not Mode.NO_FIT or self.excluded:
            return None
        if self.mismatch:
            return Obstacle.MISMATCH
        return max(shortage.obstacle for shortage in self.shortages)


class FlavorSearch(NamedTuple):
    """The flavors of one resource group that were tried, in order, and the best of them."""

    resource: str  # the first that the pod sets ask for
    attempts: Sequence[Attempt] = ()
    best: Attempt | None = None
    tried: int = ALL_TRIED  # to be remembered, see ScanProgress
    covered: bool = True  # the resource, by a group of the queue

    @property
    def obstacle(self) -> Obstacle | None:
        """That of the flavor which is nearest to fitting; None if none was in the way."""
        if not self.covered:
            return Obstacle.MISMATCH
        return min((found for attempt in self.attempts if (found := attempt.obstacle)), default=None)


@dataclass(frozen=True, slots=True)
class FlavorRefusal:
    """Why a pod set got no flavor: what speaks against each, in the order they were tried."""

    pod_set: str
    resource: str
    covered: bool = True  # by a resource group of the queue
    mismatches: tuple[tuple[str, str], ...] = ()  # flavor, end of a sentence about it
    shortages: tuple[tuple[Shortage, ...], ...] = ()  # one tuple for each flavor that matches

    @classmethod
    def of(cls, pod_set: str, search: FlavorSearch) -> "FlavorRefusal":
        return cls(
            pod_set,
            search.resource,
            search.covered,
            tuple((attempt.flavor, attempt.mismatch) for attempt in search.attempts if attempt.mismatch),
            tuple(attempt.shortages for attempt in search.attempts if attempt.shortages),
        )
