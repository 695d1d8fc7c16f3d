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

from muster.admission.topology.rooms import Room

Amount = Callable[[Room], int]


class Unit(NamedTuple):
    """What is given out to domains: slices of `size` pods, or pods. `amount` is how many of them a room
    holds, `with_leader` how many beside a leader."""

    size: int
    amount: Amount
    with_leader: Amount


def slices_of(size: int) -> Unit:
    """For domains at the level of the slices and above."""
    return Unit(size, attrgetter("slices"), attrgetter("slices_with_leader"))


def pods_by(size: int) -> Unit:
    """For domains below that, where pods come in packs of `size`, the inner slices."""
    if size == 1:
        return Unit(1, attrgetter("pods"), attrgetter("pods_with_leader"))
    return Unit(size, lambda room: room.pods // size, lambda room: room.pods_with_leader // size)


@dataclass(frozen=True, slots=True)
class Profile:
    least_free: bool
    prefers_affinity: bool

    def by_room(self, rooms: Iterable[Room]) -> list[Room]:
        """With the least left over first, among those for as many slices."""
        sign = 1 if self.least_free else -1
        return sorted(
            self._useful(rooms),
            key=lambda room: (-room.affinity, sign * room.slices, room.pods, room.rank),
        )

    def by_room_with_leader(self, rooms: Iterable[Room]) -> list[Room]:
        sign = 1 if self.least_free else -1
        return sorted(
            self._useful(rooms),
            key=lambda room: (
                -room.leaders,
                -room.affinity,
                sign * room.slices_with_leader,
                room.pods_with_leader,
                room.rank,
            ),
        )

    def _useful(self, rooms: Iterable[Room]) -> Iterable[Room]:
        """BestFit judges by the first room, be it full; LeastFreeCapacity would only pass by full ones."""
        return [room for room in rooms if room.pods or room.leaders] if self.least_free else rooms

    def tightest(self, rooms: Sequence[Room], needed: int, amount: Amount, leaders: int = 0) -> Room:
        """The first of those that hold no more than necessary beyond `needed`; the first of all if none
        does. A preferred node affinity weighs more than a tight fit."""
        if self.prefers_affinity:
            best = rooms[0].affinity
            rooms = list(takewhile(lambda room: room.affinity == best, rooms))
        return min(
            (room for room in rooms if room.leaders >= leaders and amount(room) >= needed),
            key=amount,
            default=rooms[0],
        )


def leader_first(rooms: Sequence[Room], needed: int, leaders: int, unit: Unit) -> Sequence[Room]:
    """The first domain goes ahead that can take the leader and leave enough room for all workers: a
    leader costs some domains more than others, and there is no way back further down."""
    if not leaders:
        return rooms
    spare = sum(map(unit.amount, rooms)) - needed
    for at, room in enumerate(rooms):
        if room.leaders >= leaders and unit.amount(room) - unit.with_leader(room) <= spare:
            return [room, *rooms[:at], *rooms[at + 1 :]]
    return rooms
