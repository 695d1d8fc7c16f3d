"""Which domain comes first: the profiles BestFit and LeastFreeCapacity.

BestFit takes the roomiest domains, and of those that hold all the rest the tightest one.
LeastFreeCapacity, for pods that go anywhere, fills up the fullest first.
Source: KEP-2724 and Kueue's pkg/cache/scheduler/tas_flavor_snapshot.go.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import attrgetter
from typing import NamedTuple

from muster.admission.topology.domain_capacity import DomainCapacity

Amount = Callable[[DomainCapacity], int]


class Unit(NamedTuple):
    """The unit of assignment to domains: slices of `size` pods, or pods. `amount` is how many of them a
    domain holds, `with_leader` how many beside a leader."""

    size: int
    amount: Amount
    with_leader: Amount


def slices_of(size: int) -> Unit:
    """The unit at the level of the slices and above."""
    return Unit(size, attrgetter("slices"), attrgetter("slices_with_leader"))


def pods_by(size: int) -> Unit:
    """The unit below that, where pods come in inner slices of `size`."""
    if size == 1:
        return Unit(1, attrgetter("pods"), attrgetter("pods_with_leader"))
    return Unit(
        size, lambda capacity: capacity.pods // size, lambda capacity: capacity.pods_with_leader // size
    )


@dataclass(frozen=True, slots=True)
class Profile:
    least_free: bool
    prefers_affinity: bool

    def by_capacity(self, capacities: Iterable[DomainCapacity]) -> list[DomainCapacity]:
        """Sorts by slices; among equals the one with the least left over comes first."""
        sign = 1 if self.least_free else -1
        return sorted(
            self._useful(capacities),
            key=lambda capacity: (-capacity.affinity, sign * capacity.slices, capacity.pods, capacity.rank),
        )

    def by_capacity_with_leader(self, capacities: Iterable[DomainCapacity]) -> list[DomainCapacity]:
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
        """BestFit judges by the first domain, be it full; LeastFreeCapacity would only skip full ones."""
        return (
            [capacity for capacity in capacities if capacity.pods or capacity.leaders]
            if self.least_free
            else capacities
        )

    def tightest(
        self, capacities: Sequence[DomainCapacity], needed: int, amount: Amount, leaders: int = 0
    ) -> DomainCapacity:
        """The first of those that hold no more than necessary beyond `needed`; the first of all if none
        does. A preferred node affinity weighs more than a tight fit."""
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
    """The first domain goes ahead that can take the leader and leave enough room for all workers: a
    leader costs some domains more than others, and there is no way back further down."""
    if not leaders:
        return capacities
    spare = sum(map(unit.amount, capacities)) - needed
    for at, capacity in enumerate(capacities):
        if capacity.leaders >= leaders and unit.amount(capacity) - unit.with_leader(capacity) <= spare:
            return [capacity, *capacities[:at], *capacities[at + 1 :]]
    return capacities
