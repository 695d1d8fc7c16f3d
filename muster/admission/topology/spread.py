"""Distributes pods over selected domains, then level by level down to the leaves.

Source: updateCountsToMinimumGeneric and phase 2b of Kueue's pkg/cache/scheduler/tas_flavor_snapshot.go.
"""

from collections.abc import Sequence
from typing import NamedTuple

from muster.admission.topology.domain_capacity import DomainCapacity
from muster.admission.topology.request import LevelRequest
from muster.admission.topology.search import PlacementProfile, Unit, leader_first, pods_by, slices_of


class DomainPods(NamedTuple):
    """The pods and leaders that a domain gets."""

    capacity: DomainCapacity
    pods: int
    leaders: int


def spread(
    capacities: Sequence[DomainCapacity], pods: int, leaders: int, unit: Unit, profile: PlacementProfile
) -> list[DomainPods] | None:
    """Fills domains in order, and places the remainder in the tightest domain that holds it; returns None if
    they do not hold all pods."""
    remaining = pods // unit.size
    if not remaining and not leaders:
        return []
    capacities = leader_first(capacities, remaining, leaders, unit)
    shares: list[DomainPods] = []
    for at, capacity in enumerate(capacities):
        amount = unit.with_leader if leaders else unit.amount
        if capacity.leaders >= leaders and amount(capacity) >= remaining:
            last = (
                capacity
                if profile.least_free
                else profile.tightest(capacities[at:], remaining, amount, leaders)
            )
            return [*shares, DomainPods(last, remaining * unit.size, leaders)]
        filled, hosted = min(amount(capacity), remaining), min(capacity.leaders, leaders)
        shares.append(DomainPods(capacity, filled * unit.size, hosted))
        remaining -= filled
        leaders -= hosted
    return None


def descend(
    shares: list[DomainPods], request: LevelRequest, leaf_level: int, profile: PlacementProfile
) -> list[DomainPods] | None:
    """Descends from the level of the search to the leaves.

    Down to the slice level, all domains of a level are filled together, to use few domains; below it, each
    domain's pods go to its own children."""
    level = shares[0].capacity.domain.level
    unit = slices_of(request.slice_size)
    spread_shares: list[DomainPods] | None = shares
    while spread_shares is not None and level < request.slice_level:
        level += 1
        children = [child for share in spread_shares for child in share.capacity.children]
        spread_shares = spread(profile.by_capacity(children), request.count, request.leaders, unit, profile)
    return None if spread_shares is None else descend_separately(spread_shares, request, leaf_level, profile)


def descend_separately(
    shares: list[DomainPods], request: LevelRequest, leaf_level: int, profile: PlacementProfile
) -> list[DomainPods] | None:
    """Distributes each domain's pods among its own children, down to the leaves."""
    for level in range(shares[0].capacity.domain.level + 1, leaf_level + 1):
        unit = (
            slices_of(request.slice_size)
            if level <= request.slice_level
            else pods_by(request.inner.get(level, 1))
        )
        below: list[DomainPods] = []
        for share in shares:
            children = profile.by_capacity(share.capacity.children)
            parts = spread(children, share.pods, share.leaders, unit, profile)
            if parts is None:
                return None
            below += parts
        shares = below
    return shares
