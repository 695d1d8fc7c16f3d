"""Tried flavors, the obstacle of each, and where the search ended: the data of explanations.

The next cycle continues where the search ended (Kueue: LastTriedFlavorIdx of AssignmentClusterQueueState in
pkg/workload), unless the cycle finds the progress outdated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from muster.admission.flavors.fungibility import Grade, Mode
from muster.admission.model import FlavorResource

ALL_TRIED = -1


@dataclass(frozen=True, slots=True)
class ScanProgress:
    """The end of the search for each examined pod set, in order.

    By resource: the index of the last tried flavor in its resource group, or ALL_TRIED if it was the last."""

    tried: tuple[Mapping[str, int], ...] = ()

    @property
    def pending(self) -> bool:
        """Returns whether untried flavors remain: the workload is not parked yet (Kueue: PendingFlavors)."""
        return any(index != ALL_TRIED for indices in self.tried for index in indices.values())

    def start(self, pod_set: int, resource: str) -> int:
        """Returns the index of the first flavor to try."""
        if pod_set >= len(self.tried):
            return 0
        return self.tried[pod_set].get(resource, ALL_TRIED) + 1


class Obstacle(IntEnum):
    """Reasons against a flavor, the least severe first (Kueue: reasonSeverity)."""

    TOPOLOGY = 1  # no topology domain fits
    QUOTA = 2  # insufficient unused quota
    CAPACITY = 3  # more than the queue's potential quota
    MISMATCH = 4  # the pods cannot run on its nodes


class Shortage(NamedTuple):
    """Insufficient quota of a flavor for one resource."""

    flavor_resource: FlavorResource
    needed: int  # by earlier pod sets of the workload and this one
    earlier: int  # the part of earlier pod sets
    headroom: int  # available quota; for CAPACITY the potential quota
    obstacle: Obstacle  # QUOTA or CAPACITY


class FlavorAttempt(NamedTuple):
    """A flavor that was tried for the resources of a group."""

    flavor: str
    grade: Grade  # of the worst resource
    grades: Mapping[str, Grade] = {}  # by resource; empty if the pods do not match
    shortages: tuple[Shortage, ...] = ()
    mismatch: str = ""  # a predicate: the flavor is the subject
    excluded: bool = False  # not eligible for the workload, so not reported as an obstacle

    @property
    def borrowing(self) -> int:
        """The largest borrowing distance of a resource."""
        return max((grade.borrowing for grade in self.grades.values()), default=0)

    @property
    def obstacle(self) -> Obstacle | None:
        """Returns the reason against the flavor; None if it fits, also by preemption."""
        if self.grade.mode is not Mode.NO_FIT or self.excluded:
            return None
        if self.mismatch:
            return Obstacle.MISMATCH
        return max(shortage.obstacle for shortage in self.shortages)


class FlavorSearch(NamedTuple):
    """The tried flavors of one resource group, in order, and the best of them."""

    resource: str  # the first requested one
    attempts: Sequence[FlavorAttempt] = ()
    best: FlavorAttempt | None = None
    tried: int = ALL_TRIED  # see ScanProgress
    covered: bool = True  # a resource group of the queue covers the resource

    @property
    def obstacle(self) -> Obstacle | None:
        """Returns the least severe obstacle of its flavors; None without any."""
        if not self.covered:
            return Obstacle.MISMATCH
        return min((obstacle for attempt in self.attempts if (obstacle := attempt.obstacle)), default=None)


@dataclass(frozen=True, slots=True)
class FlavorRefusal:
    """The reasons why a pod set got no flavor, in the order of attempts."""

    pod_set: str
    resource: str
    covered: bool = True  # a resource group of the queue covers the resource
    mismatches: tuple[tuple[str, str], ...] = ()  # flavor, predicate
    shortages: tuple[tuple[Shortage, ...], ...] = ()  # one tuple per matching flavor

    @classmethod
    def of(cls, pod_set: str, search: FlavorSearch) -> "FlavorRefusal":
        """Returns the reasons of a search without a result."""
        return cls(
            pod_set,
            search.resource,
            search.covered,
            tuple((attempt.flavor, attempt.mismatch) for attempt in search.attempts if attempt.mismatch),
            tuple(attempt.shortages for attempt in search.attempts if attempt.shortages),
        )
