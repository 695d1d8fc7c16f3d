"""How many pods every domain has room for: counted in the leaves, summed up the tree.

Counting is most of the work of a placement, so a table of rooms is kept for each shape of pods and
only the leaves whose stock the journal tells of since are counted again.
Source: fillInCounts of Kueue's pkg/cache/scheduler/tas_flavor_snapshot.go.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from muster.admission.topology.domains import Domain, DomainTree
from muster.admission.topology.nodes import Matches, NodeDemand
from muster.admission.topology.stock import Requests, Stock, count_in


@dataclass(frozen=True, slots=True)
class Shape:
    """All that rooms are counted by. `inner` holds, by level, the size of the slices within slices."""

    demand: NodeDemand
    requests: Requests
    leader: Requests | None
    slice_size: int
    slice_level: int
    inner: tuple[tuple[int, int], ...]
    empty: bool  # as if no gang were placed


class Room:
    """What a domain has room for: pods, and whole slices down to the level of the slices; each also
    for when one leader is placed in it. `leaders` is 1 if one fits."""

    __slots__ = (
        "affinity",
        "children",
        "domain",
        "leaders",
        "limited_by",
        "parent",
        "pods",
        "pods_with_leader",
        "rank",
        "slices",
        "slices_with_leader",
    )

    def __init__(self, domain: Domain, parent: "Room | None") -> None:
        self.domain = domain
        self.rank = domain.rank
        self.parent = parent
        self.children: list[Room] = []
        self.limited_by = ""
        self.affinity = 0
        self.clear()

    def clear(self) -> None:
        self.pods = self.slices = 0
        self.clear_leader()

    def clear_leader(self) -> None:
        self.pods_with_leader = self.slices_with_leader = self.leaders = 0

    def clone(self) -> "Room":
        """With all below it, to try something out."""
        copy = Room(self.domain, None)
        copy.pods, copy.slices, copy.leaders = self.pods, self.slices, self.leaders
        copy.pods_with_leader, copy.slices_with_leader = self.pods_with_leader, self.slices_with_leader
        copy.affinity = self.affinity
        copy.children = [child.clone() for child in self.children]
        return copy

    def count(self, shape: Shape, stock: Stock) -> None:
        """Of a leaf."""
        left = stock.left(shape.empty)
        self.pods, self.limited_by = count_in(shape.requests, left)
        self.leaders, self.pods_with_leader = 0, self.pods
        if shape.leader is not None and count_in(shape.leader, left).pods:
            self.leaders = 1
            beside = dict(left)
            for resource, amount in shape.leader:
                beside[resource] = beside.get(resource, 0) - amount
            self.pods_with_leader = count_in(shape.requests, beside).pods
        if self.domain.level == shape.slice_level:
            self.slices_from_pods(shape.slice_size)

    def slices_from_pods(self, size: int) -> None:
        self.slices = self.pods // size
        self.slices_with_leader = self.pods_with_leader // size

    def sum_up(self, shape: Shape, inner_size: int = 1) -> None:
        """From its children, which hold slices of `inner_size` pods. With a leader in one of them, the
        one that loses least by it counts."""
        pods = slices = leaders = affinity = 0
        lost: list[tuple[int, int]] = []
        for child in self.children:
            fitting = child.pods - child.pods % inner_size
            pods += fitting
            slices += child.slices
            leaders = max(leaders, child.leaders)
            affinity += child.affinity
            if shape.leader is None or child.leaders:
                beside = child.pods_with_leader - child.pods_with_leader % inner_size
                lost.append((fitting - beside, child.slices - child.slices_with_leader))
        self.pods, self.slices, self.leaders, self.affinity = pods, slices, leaders, affinity
        self.pods_with_leader = pods - min(of for of, _ in lost) if lost else 0
        self.slices_with_leader = slices - min(of for _, of in lost) if lost else 0
        if self.domain.level == shape.slice_level:
            self.slices_from_pods(shape.slice_size)


class Rooms:
    """The rooms of all domains for one shape of pods; `levels` as in the tree."""

    __slots__ = ("_counted", "_inner", "_journal", "_leaves", "levels", "matches", "outside", "shape")

    def __init__(
        self, tree: DomainTree, shape: Shape, matches: Matches, within: Domain | None = None
    ) -> None:
        """`within`: leaves that are not below this domain have no room."""
        self.shape = shape
        self.matches = matches
        self.outside = 0  # of the leaves that match
        self.levels: list[list[Room]] = []
        above: list[Room] = []
        for domains in tree.levels:
            above = [_room(domain, above) for domain in domains]
            self.levels.append(above)
        self._leaves: dict[Stock, Room] = {}  # that pods may go to
        for room in above:
            if self._may_go(room, within):
                self._leaves[tree.leaves[tree.named(room.domain.values)].stock] = room
                room.affinity = matches.scores[room.rank]
        self._inner = dict(shape.inner)
        self._journal = tree.journal
        self._counted = len(self._journal)  # entries of the journal
        self._count(self._leaves)

    def _may_go(self, leaf: Room, within: Domain | None) -> bool:
        if leaf.rank not in self.matches.scores:
            return False
        inside = within is None or leaf.domain.ancestor(within.level) is within
        self.outside += not inside
        return inside

    def refresh(self) -> None:
        changed = set(self._journal[self._counted :])
        self._counted = len(self._journal)
        self._count(changed & self._leaves.keys())

    def _count(self, stocks: Iterable[Stock]) -> None:
        """Leaves, and all that is above them."""
        changed: set[Room] = set()
        for stock in stocks:
            leaf = self._leaves[stock]
            leaf.count(self.shape, stock)
            if leaf.parent is not None:
                changed.add(leaf.parent)
        while changed:
            for room in changed:
                room.sum_up(self.shape, self._inner.get(room.domain.level + 1, 1))
            changed = {room.parent for room in changed if room.parent is not None}

    def short_of(self) -> dict[str, int]:
        """Leaves that pods may go to but that have no room for a single one, by what limits them."""
        short: dict[str, int] = {}
        for leaf in self._leaves.values():
            if not leaf.pods:
                short[leaf.limited_by] = short.get(leaf.limited_by, 0) + 1
        return short


def _room(domain: Domain, above: list[Room]) -> Room:
    parent = above[domain.parent.rank] if domain.parent is not None else None
    room = Room(domain, parent)
    if parent is not None:
        parent.children.append(room)
    return room
