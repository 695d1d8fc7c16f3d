"""Selects domains for all pods: one at the requested level, one above it, or several.

Source: findLevelWithFitDomains of Kueue's pkg/cache/scheduler/tas_flavor_snapshot.go.
"""

from dataclasses import dataclass
from operator import attrgetter

from muster.admission.topology.domain_capacity import DomainCapacities, DomainCapacity
from muster.admission.topology.order import PlacementProfile, leader_first, slices_of
from muster.admission.topology.request import LevelRequest

_slices = attrgetter("slices")
_slices_with_leader = attrgetter("slices_with_leader")


@dataclass(frozen=True, slots=True)
class InsufficientCapacity:
    """The domains of `level` cannot hold all slices; `fitting` slices fit."""

    level: int
    fitting: int


def search(
    capacities: DomainCapacities, request: LevelRequest, profile: PlacementProfile
) -> list[DomainCapacity] | InsufficientCapacity:
    """Searches the requested level and, unless it is required, the levels above."""
    level = request.level
    while True:
        ordered = profile.by_capacity_with_leader(capacities.levels[level])
        single = _single(ordered, request, profile)
        if single is not None:
            return [single]
        if request.required:
            return InsufficientCapacity(level, ordered[0].slices)
        if level == 0 or request.unconstrained:
            several = _several(ordered, request, profile)
            return several if isinstance(several, list) else InsufficientCapacity(level, several)
        level -= 1


def _single(
    ordered: list[DomainCapacity], request: LevelRequest, profile: PlacementProfile
) -> DomainCapacity | None:
    """Selects one domain that holds all pods."""
    requested = request.slice_count
    for at, capacity in enumerate(ordered):
        if capacity.leaders >= request.leaders and capacity.slices_with_leader >= requested:
            if profile.least_free:
                return capacity
            return profile.tightest(ordered[at:], requested, _slices_with_leader, request.leaders)
        if not profile.least_free and not (request.required and profile.prefers_affinity):
            return None  # the first one has the most capacity
    return None


def _several(
    ordered: list[DomainCapacity], request: LevelRequest, profile: PlacementProfile
) -> list[DomainCapacity] | int:
    """Selects as few domains as possible, the leader's first. If they do not hold all slices, returns the
    number of slices that fit."""
    requested, leaders = request.slice_count, request.leaders
    remaining = requested
    pool = list(leader_first(ordered, requested, leaders, slices_of(request.slice_size)))
    chosen: list[DomainCapacity] = []
    if leaders:
        if not pool or not pool[0].leaders:
            return 0
        chosen.append(pool[0])
        remaining -= pool[0].slices_with_leader
        pool = profile.by_capacity(pool[1:])
    for at, capacity in enumerate(pool):
        if remaining <= 0:
            break
        if not profile.least_free and capacity.slices >= remaining:
            capacity = profile.tightest(pool[at:], remaining, _slices)
        chosen.append(capacity)
        remaining -= capacity.slices
    return chosen if remaining <= 0 else requested - remaining
