"""Which domains take all of the pods: one at the level that is asked for, one above it, or several.

Source: findLevelWithFitDomains of Kueue's pkg/cache/scheduler/tas_flavor_snapshot.go.
"""

from dataclasses import dataclass
from operator import attrgetter

from muster.admission.topology.ask import Ask
from muster.admission.topology.order import Profile, leader_first, slices_of
from muster.admission.topology.rooms import Room, Rooms

_slices = attrgetter("slices")
_slices_with_leader = attrgetter("slices_with_leader")


@dataclass(frozen=True, slots=True)
class TooLittle:
    """No domains at this level hold all slices together, the best so many of them."""

    level: int
    fitting: int


def search(rooms: Rooms, ask: Ask, profile: Profile) -> list[Room] | TooLittle:
    """From the level that is asked for upwards, unless no other will do."""
    level = ask.level
    while True:
        ordered = profile.by_room_with_leader(rooms.levels[level])
        one = _single(ordered, ask, profile)
        if one is not None:
            return [one]
        if ask.required:
            return TooLittle(level, ordered[0].slices)
        if level == 0 or ask.unconstrained:
            several = _several(ordered, ask, profile)
            return several if isinstance(several, list) else TooLittle(level, several)
        level -= 1


def _single(ordered: list[Room], ask: Ask, profile: Profile) -> Room | None:
    """One domain for all."""
    wanted = ask.slice_count
    for at, room in enumerate(ordered):
        if room.leaders >= ask.leaders and room.slices_with_leader >= wanted:
            if profile.least_free:
                return room
            return profile.tightest(ordered[at:], wanted, _slices_with_leader, ask.leaders)
        if not profile.least_free and not (ask.required and profile.prefers_affinity):
            return None  # the first is the roomiest
    return None


def _several(ordered: list[Room], ask: Ask, profile: Profile) -> list[Room] | int:
    """As few as possible, the leader's first; or how many slices all domains hold together."""
    wanted, leaders = ask.slice_count, ask.leaders
    left = wanted
    pool = list(leader_first(ordered, wanted, leaders, slices_of(ask.slice_size)))
    chosen: list[Room] = []
    if leaders:
        if not pool or not pool[0].leaders:
            return 0
        chosen.append(pool[0])
        left -= pool[0].slices_with_leader
        pool = profile.by_room(pool[1:])
    for at, room in enumerate(pool):
        if left <= 0:
            break
        if not profile.least_free and room.slices >= left:
            room = profile.tightest(pool[at:], left, _slices)
        chosen.append(room)
        left -= room.slices
    return chosen if left <= 0 else wanted - left
