"""Giving pods out: over chosen domains, then level by level down to the leaves.

Source: updateCountsToMinimumGeneric and phase 2b of Kueue's pkg/cache/scheduler/tas_flavor_snapshot.go.
"""

from collections.abc import Sequence
from typing import NamedTuple

from muster.admission.topology.domain_capacity import DomainCapacity
from muster.admission.topology.order import Profile, Unit, leader_first, pods_by, slices_of
from muster.admission.topology.request import LevelRequest


class DomainPods(NamedTuple):
    """The pods that a domain gets."""

    capacity: DomainCapacity
    pods: int
    leaders: int


def spread(
    capacities: Sequence[DomainCapacity], pods: int, leaders: int, unit: Unit, profile: Profile
) -> list[DomainPods] | None:
    """Fills domains in order, each with as much as it holds; the last one as tight as possible. None if
    they do not hold all of it."""
    left = pods // unit.size
    if not left and not leaders:
        return []
    capacities = leader_first(capacities, left, leaders, unit)
    shares: list[DomainPods] = []
    for at, capacity in enumerate(capacities):
        amount = unit.with_leader if leaders else unit.amount
        if capacity.leaders >= leaders and amount(capacity) >= left:
            last = (
                capacity if profile.least_free else profile.tightest(capacities[at:], left, amount, leaders)
            )
            return [*shares, DomainPods(last, left * unit.size, leaders)]
        taken, hosted = min(amount(capacity), left), min(capacity.leaders, leaders)
        shares.append(DomainPods(capacity, taken * unit.size, hosted))
        left -= taken
        leaders -= hosted
    return None


def descend(
    shares: list[DomainPods], request: LevelRequest, leaf_level: int, profile: Profile
) -> list[DomainPods] | None:
    """Descends from the level of the search to the slices' level, all domains of a level together: what
    counts is few domains; from there on each domain's children share what it got."""
    level = shares[0].capacity.domain.level
    unit = slices_of(request.slice_size)
    found: list[DomainPods] | None = shares
    while found is not None and level < request.slice_level:
        level += 1
        children = [child for share in found for child in share.capacity.children]
        found = spread(profile.by_capacity(children), request.count, request.leaders, unit, profile)
    return None if found is None else descend_apart(found, request, leaf_level, profile)


def descend_apart(
    shares: list[DomainPods], request: LevelRequest, leaf_level: int, profile: Profile
) -> list[DomainPods] | None:
    """Gives every domain's pods to its own children, down to the leaves."""
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
