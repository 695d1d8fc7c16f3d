"""How many pods every domain has room for: counted in the leaves, summed up the tree.

Counting is most of the work of a placement, so a table is kept for each kind of pods, and only leaves that
the journal lists since then are counted again.
Source: fillInCounts of Kueue's pkg/cache/scheduler/tas_flavor_snapshot.go.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from muster.admission.topology.domains import Domain, DomainTree
from muster.admission.topology.leaf_capacity import LeafCapacity, Requests, count_in
from muster.admission.topology.nodes import Matches, NodeDemand


@dataclass(frozen=True, slots=True)
class CapacityKey:
    """Everything that capacities depend on. `inner` holds, by level, the size of the slices within slices."""

    demand: NodeDemand
    requests: Requests
    leader: Requests | None
    slice_size: int
    slice_level: int
    inner: tuple[tuple[int, int], ...]
    empty: bool  # as if no gang were placed


class DomainCapacity:
    """The capacity of a domain: pods, and whole slices down to the level of the slices; each also
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

    def __init__(self, domain: Domain, parent: "DomainCapacity | None") -> None:
        self.domain = domain
        self.rank = domain.rank
        self.parent = parent
        self.children: list[DomainCapacity] = []
        self.limited_by = ""
        self.affinity = 0
        self.clear()

    def clear(self) -> None:
        self.pods = self.slices = 0
        self.clear_leader()

    def clear_leader(self) -> None:
        self.pods_with_leader = self.slices_with_leader = self.leaders = 0

    def clone(self) -> "DomainCapacity":
        """Copies it with all below it, to simulate on."""
        copy = DomainCapacity(self.domain, None)
        copy.pods, copy.slices, copy.leaders = self.pods, self.slices, self.leaders
        copy.pods_with_leader, copy.slices_with_leader = self.pods_with_leader, self.slices_with_leader
        copy.affinity = self.affinity
        copy.children = [child.clone() for child in self.children]
        return copy

    def count(self, key: CapacityKey, leaf_capacity: LeafCapacity) -> None:
        """Counts a leaf."""
        left = leaf_capacity.left(key.empty)
        self.pods, self.limited_by = count_in(key.requests, left)
        self.leaders, self.pods_with_leader = 0, self.pods
        if key.leader is not None and count_in(key.leader, left).pods:
            self.leaders = 1
            beside = dict(left)
            for resource, amount in key.leader:
                beside[resource] = beside.get(resource, 0) - amount
            self.pods_with_leader = count_in(key.requests, beside).pods
        if self.domain.level == key.slice_level:
            self.slices_from_pods(key.slice_size)

    def slices_from_pods(self, size: int) -> None:
        self.slices = self.pods // size
        self.slices_with_leader = self.pods_with_leader // size

    def sum_up(self, key: CapacityKey, inner_size: int = 1) -> None:
        """Sums up its children, which hold slices of `inner_size` pods. With a leader in one of them, the
        one that loses least by it counts."""
        pods = slices = leaders = affinity = 0
        lost: list[tuple[int, int]] = []
        for child in self.children:
            fitting = child.pods - child.pods % inner_size
            pods += fitting
            slices += child.slices
            leaders = max(leaders, child.leaders)
            affinity += child.affinity
            if key.leader is None or child.leaders:
                beside = child.pods_with_leader - child.pods_with_leader % inner_size
                lost.append((fitting - beside, child.slices - child.slices_with_leader))
        self.pods, self.slices, self.leaders, self.affinity = pods, slices, leaders, affinity
        self.pods_with_leader = pods - min(of for of, _ in lost) if lost else 0
        self.slices_with_leader = slices - min(of for _, of in lost) if lost else 0
        if self.domain.level == key.slice_level:
            self.slices_from_pods(key.slice_size)


class DomainCapacities:
    """The capacities of all domains for one kind of pods; `levels` as in the tree."""

    __slots__ = ("_counted", "_inner", "_journal", "_leaves", "key", "levels", "matches", "outside")

    def __init__(
        self, tree: DomainTree, key: CapacityKey, matches: Matches, within: Domain | None = None
    ) -> None:
        """`within`: leaves that are not below this domain have no room."""
        self.key = key
        self.matches = matches
        self.outside = 0  # of the leaves that match
        self.levels: list[list[DomainCapacity]] = []
        above: list[DomainCapacity] = []
        for domains in tree.levels:
            above = [_capacity(domain, above) for domain in domains]
            self.levels.append(above)
        self._leaves: dict[LeafCapacity, DomainCapacity] = {}  # that pods may go to
        for capacity in above:
            if self._may_go(capacity, within):
                self._leaves[tree.leaves[tree.named(capacity.domain.values)].leaf_capacity] = capacity
                capacity.affinity = matches.scores[capacity.rank]
        self._inner = dict(key.inner)
        self._journal = tree.journal
        self._counted = len(self._journal)  # entries of the journal
        self._count(self._leaves)

    def _may_go(self, leaf: DomainCapacity, within: Domain | None) -> bool:
        if leaf.rank not in self.matches.scores:
            return False
        inside = within is None or leaf.domain.ancestor(within.level) is within
        self.outside += not inside
        return inside

    def refresh(self) -> None:
        changed = set(self._journal[self._counted :])
        self._counted = len(self._journal)
        self._count(changed & self._leaves.keys())

    def _count(self, leaf_capacities: Iterable[LeafCapacity]) -> None:
        """Leaves, and all that is above them."""
        changed: set[DomainCapacity] = set()
        for leaf_capacity in leaf_capacities:
            leaf = self._leaves[leaf_capacity]
            leaf.count(self.key, leaf_capacity)
            if leaf.parent is not None:
                changed.add(leaf.parent)
        while changed:
            for capacity in changed:
                capacity.sum_up(self.key, self._inner.get(capacity.domain.level + 1, 1))
            changed = {capacity.parent for capacity in changed if capacity.parent is not None}

    def short_of(self) -> dict[str, int]:
        """Leaves that pods may go to but that have no room for a single one, by what limits them."""
        short: dict[str, int] = {}
        for leaf in self._leaves.values():
            if not leaf.pods:
                short[leaf.limited_by] = short.get(leaf.limited_by, 0) + 1
        return short


def _capacity(domain: Domain, above: list[DomainCapacity]) -> DomainCapacity:
    parent = above[domain.parent.rank] if domain.parent is not None else None
    capacity = DomainCapacity(domain, parent)
    if parent is not None:
        parent.children.append(capacity)
    return capacity
