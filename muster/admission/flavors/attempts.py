"""Flavors that were tried, and what spoke against each: the data of every explanation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from muster.admission.flavors.fungibility import Grade, Mode
from muster.admission.flavors.progress import ALL_TRIED
from muster.admission.model import FlavorResource


class Obstacle(IntEnum):
    """What keeps a workload from a flavor, the most easily cured first (Kueue: reasonSeverity)."""

    TOPOLOGY = 1  # its pods find no places near each other
    QUOTA = 2  # in use
    CAPACITY = 3  # more than could ever be had
    MISMATCH = 4  # the pods can not run there


class Shortage(NamedTuple):
    """A quantity that a flavor can not give now."""

    wanted: FlavorResource
    needed: int  # by the workload in all: for its earlier pod sets and for this one
    earlier: int  # the part for earlier pod sets
    room: int  # what there is: left now, or at most ever
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
        """None for a flavor that can be had, be it by preemption."""
        if self.grade.mode is not Mode.NO_FIT or self.excluded:
            return None
        if self.mismatch:
            return Obstacle.MISMATCH
        return max(shortage.obstacle for shortage in self.shortages)


class Search(NamedTuple):
    """The flavors of one resource group that were tried, in order, and the best of them."""

    resource: str  # the first that the pod sets ask for
    attempts: Sequence[Attempt] = ()
    best: Attempt | None = None
    tried: int = ALL_TRIED  # to be remembered, see Progress
    covered: bool = True  # the resource, by a group of the queue

    @property
    def obstacle(self) -> Obstacle | None:
        """That of the flavor which is nearest to fitting; None if none was in the way."""
        if not self.covered:
            return Obstacle.MISMATCH
        return min((found for attempt in self.attempts if (found := attempt.obstacle)), default=None)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a pod set got no flavor: what speaks against each, in the order they were tried."""

    pod_set: str
    resource: str
    covered: bool = True  # by a resource group of the queue
    mismatches: tuple[tuple[str, str], ...] = ()  # flavor, end of a sentence about it
    shortages: tuple[tuple[Shortage, ...], ...] = ()  # one tuple for each flavor that matches

    @classmethod
    def of(cls, pod_set: str, search: Search) -> "Refusal":
        return cls(
            pod_set,
            search.resource,
            search.covered,
            tuple((attempt.flavor, attempt.mismatch) for attempt in search.attempts if attempt.mismatch),
            tuple(attempt.shortages for attempt in search.attempts if attempt.shortages),
        )
