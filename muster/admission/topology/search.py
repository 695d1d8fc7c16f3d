"""Selects domains for all pods: one at the requested level, one above it, or several.

BestFit takes the domains with the most capacity, and for the remainder the tightest domain that holds it.
LeastFreeCapacity, for unconstrained pods, fills the domains with the least free capacity first.
Source: KEP-2724, and findLevelWithFitDomains of Kueue's pkg/cache/scheduler/tas_flavor_snapshot.go.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import attrgetter
from typing import NamedTuple

from muster.admission.topology.domain_capacity import DomainCapacities, DomainCapacity
from muster.admission.topology.request import LevelRequest

Amount = Callable[[DomainCapacity], int]


class Unit(NamedTuple):
    """The unit of distribution: slices of `size` pods, or pods. `amount` returns the units that a domain
    can hold, `with_leader` the units that it can hold in addition to a leader."""

    size: int
    amount: Amount
    with_leader: Amount


def slices_of(size: int) -> Unit:
    """Returns the unit at the slice level and above."""
    return Unit(size, attrgetter("slices"), attrgetter("slices_with_leader"))


def pods_by(size: int) -> Unit:
    """Returns the unit below the slice level: nested slices of `size` pods."""
    if size == 1:
        return Unit(1, attrgetter("pods"), attrgetter("pods_with_leader"))
    return Unit(
        size, lambda capacity: capacity.pods // size, lambda capacity: capacity.pods_with_leader // size
    )


@dataclass(frozen=True, slots=True)
class PlacementProfile:
    """The order in which domains are filled."""

    least_free: bool
    prefers_affinity: bool

    def by_capacity(self, capacities: Iterable[DomainCapacity]) -> list[DomainCapacity]:
        """Sorts by slices; of equals, the domain with the fewest excess pods comes first."""
        sign = 1 if self.least_free else -1
        return sorted(
            self._useful(capacities),
            key=lambda capacity: (-capacity.affinity, sign * capacity.slices, capacity.pods, capacity.rank),
        )

    def by_capacity_with_leader(self, capacities: Iterable[DomainCapacity]) -> list[DomainCapacity]:
        """Returns the useful domains, the best for a leader and its workers first."""
        sign = 1 if self.least_free else -1
        return sorted(
            self._useful(capacities),
            key=lambda capacity: (
                -capacity.leaders,
                -capacity.affinity,
                sign * capacity.slices_with_leader,
                capacity.pods_with_leader,
                capacity.rank,
            ),
        )

    def _useful(self, capacities: Iterable[DomainCapacity]) -> Iterable[DomainCapacity]:
        """Omits full domains for LeastFreeCapacity; BestFit examines the first domain even if it is full."""
        return (
            [capacity for capacity in capacities if capacity.pods or capacity.leaders]
            if self.least_free
            else capacities
        )

    def tightest(
        self, capacities: Sequence[DomainCapacity], needed: int, amount: Amount, leaders: int = 0
    ) -> DomainCapacity:
        """Returns the first domain that holds `needed` with the least excess; the first domain if none holds
        it. Preferred node affinity takes precedence over a tight fit."""
        if self.prefers_affinity:
            best = capacities[0].affinity
            capacities = list(takewhile(lambda capacity: capacity.affinity == best, capacities))
        return min(
            (
                capacity
                for capacity in capacities
                if capacity.leaders >= leaders and amount(capacity) >= needed
            ),
            key=amount,
            default=capacities[0],
        )


def leader_first(
    capacities: Sequence[DomainCapacity], needed: int, leaders: int, unit: Unit
) -> Sequence[DomainCapacity]:
    """Moves the first domain that can host the leader, with enough capacity remaining for all workers, to the
    front. A leader reduces some domains more than others, and lower levels cannot revise this choice."""
    if not leaders:
        return capacities
    spare = sum(map(unit.amount, capacities)) - needed
    for at, capacity in enumerate(capacities):
        if capacity.leaders >= leaders and unit.amount(capacity) - unit.with_leader(capacity) <= spare:
            return [capacity, *capacities[:at], *capacities[at + 1 :]]
    return capacities


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
