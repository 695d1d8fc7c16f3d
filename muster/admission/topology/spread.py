"""Giving pods out: over chosen domains, then level by level down to the leaves.

Source: updateCountsToMinimumGeneric and phase 2b of Kueue's pkg/cache/scheduler/tas_flavor_snapshot.go.
"""

from collections.abc import Sequence
from typing import NamedTuple

from muster.admission.topology.ask import Ask
from muster.admission.topology.order import Profile, Unit, leader_first, pods_by, slices_of
from muster.admission.topology.rooms import Room


class Share(NamedTuple):
    """What a domain gets."""

    room: Room
    pods: int
    leaders: int


def spread(
    rooms: Sequence[Room], pods: int, leaders: int, unit: Unit, profile: Profile
) -> list[Share] | None:
    """In the order of the rooms, each as much as it holds; the last one as tight as possible. None if
    they do not hold all of it."""
    left = pods // unit.size
    if not left and not leaders:
        return []
    rooms = leader_first(rooms, left, leaders, unit)
    shares: list[Share] = []
    for at, room in enumerate(rooms):
        amount = unit.with_leader if leaders else unit.amount
        if room.leaders >= leaders and amount(room) >= left:
            last = room if profile.least_free else profile.tightest(rooms[at:], left, amount, leaders)
            return [*shares, Share(last, left * unit.size, leaders)]
        taken, hosted = min(amount(room), left), min(room.leaders, leaders)
        shares.append(Share(room, taken * unit.size, hosted))
        left -= taken
        leaders -= hosted
    return None


def descend(shares: list[Share], ask: Ask, leaf_level: int, profile: Profile) -> list[Share] | None:
    """From domains at the level of the search to the slices' level, all domains of a level together: what
    counts is few domains; from there on each domain's children share what it got."""
    level = shares[0].room.domain.level
    unit = slices_of(ask.slice_size)
    found: list[Share] | None = shares
    while found is not None and level < ask.slice_level:
        level += 1
        children = [child for share in found for child in share.room.children]
        found = spread(profile.by_room(children), ask.count, ask.leaders, unit, profile)
    return None if found is None else descend_apart(found, ask, leaf_level, profile)


def descend_apart(shares: list[Share], ask: Ask, leaf_level: int, profile: Profile) -> list[Share] | None:
    """Every domain's share goes to its own children, down to the leaves."""
    for level in range(shares[0].room.domain.level + 1, leaf_level + 1):
        unit = slices_of(ask.slice_size) if level <= ask.slice_level else pods_by(ask.inner.get(level, 1))
        below: list[Share] = []
        for share in shares:
            children = profile.by_room(share.room.children)
            parts = spread(children, share.pods, share.leaders, unit, profile)
            if parts is None:
                return None
            below += parts
        shares = below
    return shares
