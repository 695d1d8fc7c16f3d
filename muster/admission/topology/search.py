"""Which domains take all of the pods: one at the level that is asked for, one above it, or several.

Source: findLevelWithFitDomains of Kueue's pkg/cache/scheduler/tas_flavor_snapshot.go.
"""

from dataclasses import dataclass
from operator import attrgetter

from muster.admission.topology.domain_capacity import DomainCapacities, DomainCapacity
from muster.admission.topology.order import Profile, leader_first, slices_of
from muster.admission.topology.request import LevelRequest

_slices = attrgetter("slices")
_slices_with_leader = attrgetter("slices_with_leader")


@dataclass(frozen=True, slots=True)
class InsufficientCapacity:
    """No domains at this level hold all slices together, the best so many of them."""

    level: int
    fitting: int


def search(
    capacities: DomainCapacities, request: LevelRequest, profile: Profile
) -> list[DomainCapacity] | InsufficientCapacity:
    """Searches from the requested level upwards, unless it is required."""
    level = request.level
    while True:
        ordered = profile.by_capacity_with_leader(capacities.levels[level])
        one = _single(ordered, request, profile)
        if one is not None:
            return [one]
        if request.required:
            return InsufficientCapacity(level, ordered[0].slices)
        if level == 0 or request.unconstrained:
            several = _several(ordered, request, profile)
            return several if isinstance(several, list) else InsufficientCapacity(level, several)
        level -= 1


def _single(ordered: list[DomainCapacity], request: LevelRequest, profile: Profile) -> DomainCapacity | None:
    """One domain for all."""
    wanted = request.slice_count
    for at, capacity in enumerate(ordered):
        if capacity.leaders >= request.leaders and capacity.slices_with_leader >= wanted:
            if profile.least_free:
                return capacity
            return profile.tightest(ordered[at:], wanted, _slices_with_leader, request.leaders)
        if not profile.least_free and not (request.required and profile.prefers_affinity):
            return None  # the first is the roomiest
    return None


def _several(
    ordered: list[DomainCapacity], request: LevelRequest, profile: Profile
) -> list[DomainCapacity] | int:
    """Picks as few domains as possible, the leader's first; or returns how many slices all domains hold
    together."""
    wanted, leaders = request.slice_count, request.leaders
    left = wanted
    pool = list(leader_first(ordered, wanted, leaders, slices_of(request.slice_size)))
    chosen: list[DomainCapacity] = []
    if leaders:
        if not pool or not pool[0].leaders:
            return 0
        chosen.append(pool[0])
        left -= pool[0].slices_with_leader
        pool = profile.by_capacity(pool[1:])
    for at, capacity in enumerate(pool):
        if left <= 0:
            break
        if not profile.least_free and capacity.slices >= left:
            capacity = profile.tightest(pool[at:], left, _slices)
        chosen.append(capacity)
        left -= capacity.slices
    return chosen if left <= 0 else wanted - left
