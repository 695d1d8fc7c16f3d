"""Balanced placement: few domains, and pods spread evenly over them.

The threshold is the largest number of slices that every chosen domain can get at least. It is looked
for among domains that share a parent, and what holds less than it is left aside.
Source: KEP-2724 (balanced placement), Kueue's pkg/cache/scheduler/tas_balanced_placement.go.
"""

from collections.abc import Callable, Sequence
from math import fsum, log2
from operator import itemgetter
from typing import NamedTuple

from muster.admission.topology.ask import Ask
from muster.admission.topology.order import Profile
from muster.admission.topology.rooms import Room, Rooms, Shape
from muster.admission.topology.spread import Share


class _Walk(NamedTuple):
    """How a greedy placement goes: over how many domains, and the last of them."""

    domains: int
    last_with_leader: Room | None
    last: Room | None


class _Candidates(NamedTuple):
    """Sibling domains, without what can't reach the threshold."""

    threshold: int
    domains: int  # that a greedy placement takes of them
    rooms: list[Room]


def balance(rooms: Rooms, ask: Ask, profile: Profile) -> list[Share] | None:
    """Shares of domains at the level that is asked for, or of the level below where the slices are
    further down. None: no balanced placement, BestFit has to do."""
    best: _Candidates | None = None
    for siblings in _families(rooms, ask.level):
        found = _candidates(siblings, rooms.shape, ask, best.threshold if best else 1, profile)
        if found and (best is None or _better(found, best)):
            best = found
    if best is None:
        return None
    chosen = best.rooms
    if ask.level < ask.slice_level:
        parents = _fewest(chosen, ask, profile, evenest_first=True)
        if parents is None:
            return None
        chosen = [child for room in parents for child in room.children]
    chosen_few = _fewest(chosen, ask, profile, evenest_first=False)
    return _even(chosen_few, ask, best.threshold, profile) if chosen_few else None


def _families(rooms: Rooms, level: int) -> list[list[Room]]:
    """Domains of this level by their parent."""
    return [rooms.levels[0]] if level == 0 else [parent.children for parent in rooms.levels[level - 1]]


def _candidates(
    siblings: list[Room], shape: Shape, ask: Ask, floor: int, profile: Profile
) -> _Candidates | None:
    """Of these, if they hold all and every domain can get `floor` slices."""
    below = [child for room in siblings for child in room.children]
    walk = _walk(below if ask.level < ask.slice_level else siblings, ask, profile)
    if walk is None:
        return None
    for threshold in _thresholds(walk, ask):
        if threshold < floor:
            return None
        kept = _pruned(siblings, threshold, shape)
        after = _walk(kept, ask, profile)
        if after is not None:
            return _Candidates(threshold, after.domains, kept)
    return None


def _better(one: _Candidates, other: _Candidates) -> bool:
    return (-one.threshold, one.domains) < (-other.threshold, other.domains)


def _walk(rooms: Sequence[Room], ask: Ask, profile: Profile) -> _Walk | None:
    """None if the rooms do not hold all."""
    left = ask.slice_count
    host: Room | None = None
    last: Room | None = None
    domains = 0
    if ask.leaders:
        rooms = profile.by_room_with_leader(rooms)
        if not rooms[0].leaders:
            return None
        host, *rooms = rooms
        domains, left = 1, left - host.slices_with_leader
    for room in profile.by_room(rooms):
        if left <= 0 or not room.slices:
            break
        domains, left, last = domains + 1, left - room.slices, room
    return _Walk(domains, host, last) if domains and left <= 0 else None


def _thresholds(walk: _Walk, ask: Ask) -> list[int]:
    """The highest, and one at which the last domain could host the leader too."""
    threshold = ask.slice_count // walk.domains
    if walk.last_with_leader is not None:
        threshold = min(threshold, walk.last_with_leader.slices_with_leader)
    if walk.last is None:
        return [threshold]
    threshold = min(threshold, walk.last.slices)
    if not ask.leaders or walk.last.slices_with_leader >= threshold:
        return [threshold]
    return [threshold, walk.last.slices_with_leader]


def _pruned(siblings: Sequence[Room], threshold: int, shape: Shape) -> list[Room]:
    """Copies in which domains and their children that hold less than the threshold hold nothing."""
    copies = [room.clone() for room in siblings]
    for room in copies:
        for child in room.children:
            _prune(child, threshold)
        _sum_up(room, shape)
        _prune(room, threshold)
    return copies


def _prune(room: Room, threshold: int) -> None:
    if room.slices < threshold:
        _each(room, Room.clear)
    elif room.leaders and room.slices_with_leader < threshold:
        _each(room, Room.clear_leader)  # it can still take workers


def _each(room: Room, change: Callable[[Room], None]) -> None:
    change(room)
    for child in room.children:
        _each(child, change)


def _sum_up(room: Room, shape: Shape) -> None:
    for child in room.children:
        _sum_up(child, shape)
    if room.children:
        room.sum_up(shape)


def _fewest(
    rooms: Sequence[Room], ask: Ask, profile: Profile, evenest_first: bool
) -> tuple[Room, ...] | None:
    """As many of these as a greedy placement takes, that together hold all and least beyond it: the
    first such choice in the order of their values, or of how evenly their children hold pods."""
    walk = _walk(rooms, ask, profile)
    if walk is None:
        return None
    ordered = sorted(rooms, key=_evenness if evenest_first else _rank)
    # by number of domains chosen: leaders and pods that are left to place, with the choice
    states: list[dict[tuple[int, int], tuple[Room, ...]]] = [{} for _ in range(walk.domains + 1)]
    states[0][ask.leaders, ask.slice_count * ask.slice_size] = ()
    for room in ordered:
        for chosen in range(walk.domains, 0, -1):
            for (leaders, pods), choice in sorted(states[chosen - 1].items(), key=itemgetter(0)):
                if leaders <= 0 and pods <= 0:
                    continue
                if leaders > 0 and room.leaders:
                    left = leaders - room.leaders, pods - room.pods_with_leader
                    states[chosen].setdefault(left, (*choice, room))
                if room.slices:
                    states[chosen].setdefault((leaders, pods - room.pods), (*choice, room))
    full = [(pods, choice) for (leaders, pods), choice in states[-1].items() if leaders == 0 and pods <= 0]
    return max(full, key=itemgetter(0))[1] if full else None


def _rank(room: Room) -> int:
    return room.rank


def _evenness(room: Room) -> tuple[int, int, float, int]:
    """By the entropy of the children's pods: only ever compared, and summed without rounding, so that
    equal sets of children are equal in any order."""
    total = sum(child.pods for child in room.children)
    parts = [child.pods / total for child in room.children if child.pods]
    entropy = -fsum(part * log2(part) for part in parts)
    return (-room.leaders, -room.slices_with_leader, -entropy, room.rank)


def _even(rooms: Sequence[Room], ask: Ask, threshold: int, profile: Profile) -> list[Share] | None:
    """The threshold for each, and what is left over to the roomiest."""
    extra = ask.slice_count - len(rooms) * threshold
    if extra < 0:
        return None
    leaders = ask.leaders
    shares: list[Share] = []
    for room in profile.by_room_with_leader(rooms):
        holds = room.slices_with_leader if leaders else room.slices
        more = min(holds - threshold, extra)
        shares.append(Share(room, (threshold + more) * ask.slice_size, leaders))
        leaders, extra = 0, extra - more
    return shares if extra == 0 else None
