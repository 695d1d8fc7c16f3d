"""The capacity of domains, in pods: computed for leaves, and summed up the tree.

This is the largest cost of a placement. Capacities are therefore cached for each kind of pods, and a refresh
computes only the leaves that the journal lists as changed.
Source: fillInCounts of Kueue's pkg/cache/scheduler/tas_flavor_snapshot.go.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from muster.admission.topology.domains import Domain, DomainTree, LeafCapacity, Requests, count_pods
from muster.admission.topology.nodes import Matches, NodeDemand


@dataclass(frozen=True, slots=True)
class CapacityKey:
    """All inputs of a capacity. `inner` has the sizes of nested slices by level."""

    demand: NodeDemand
    requests: Requests
    leader: Requests | None
    slice_size: int
    slice_level: int
    inner: tuple[tuple[int, int], ...]
    empty: bool  # ignores placed gangs


class DomainCapacity:
    """The capacity of a domain in pods and, down to the slice level, in whole slices; each with and without
    a leader in the domain. `leaders` is 1 if a leader fits."""

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
        """Sets all counts to 0."""
        self.pods = self.slices = 0
        self.clear_leader()

    def clear_leader(self) -> None:
        """Sets the counts that include a leader to 0."""
        self.pods_with_leader = self.slices_with_leader = self.leaders = 0

    def clone(self) -> "DomainCapacity":
        """Returns a copy of this subtree, for simulations."""
        copy = DomainCapacity(self.domain, None)
        copy.pods, copy.slices, copy.leaders = self.pods, self.slices, self.leaders
        copy.pods_with_leader, copy.slices_with_leader = self.pods_with_leader, self.slices_with_leader
        copy.affinity = self.affinity
        copy.children = [child.clone() for child in self.children]
        return copy

    def count(self, key: CapacityKey, leaf_capacity: LeafCapacity) -> None:
        """Computes the capacity of a leaf."""
        free = leaf_capacity.remaining(key.empty)
        self.pods, self.limited_by = count_pods(key.requests, free)
        self.leaders, self.pods_with_leader = 0, self.pods
        if key.leader is not None and count_pods(key.leader, free).pods:
            self.leaders = 1
            free_with_leader = dict(free)
            for resource, amount in key.leader:
                free_with_leader[resource] = free_with_leader.get(resource, 0) - amount
            self.pods_with_leader = count_pods(key.requests, free_with_leader).pods
        if self.domain.level == key.slice_level:
            self.slices_from_pods(key.slice_size)

    def slices_from_pods(self, size: int) -> None:
        """Computes the numbers of slices of `size` pods from the numbers of pods."""
        self.slices = self.pods // size
        self.slices_with_leader = self.pods_with_leader // size

    def sum_up(self, key: CapacityKey, inner_size: int = 1) -> None:
        """Sums up the children, which hold slices of `inner_size` pods. A leader is placed in the child that
        loses least capacity to it."""
        pods = slices = leaders = affinity = 0
        lost: list[tuple[int, int]] = []
        for child in self.children:
            fitting = child.pods - child.pods % inner_size
            pods += fitting
            slices += child.slices
            leaders = max(leaders, child.leaders)
            affinity += child.affinity
            if key.leader is None or child.leaders:
                with_leader = child.pods_with_leader - child.pods_with_leader % inner_size
                lost.append((fitting - with_leader, child.slices - child.slices_with_leader))
        self.pods, self.slices, self.leaders, self.affinity = pods, slices, leaders, affinity
        self.pods_with_leader = pods - min(lost_pods for lost_pods, _ in lost) if lost else 0
        self.slices_with_leader = slices - min(lost_slices for _, lost_slices in lost) if lost else 0
        if self.domain.level == key.slice_level:
            self.slices_from_pods(key.slice_size)


class DomainCapacities:
    """The capacities of all domains for one kind of pods; `levels` correspond to the levels of the tree."""

    __slots__ = ("_counted", "_inner", "_journal", "_leaves", "key", "levels", "matches", "outside")

    def __init__(
        self, tree: DomainTree, key: CapacityKey, matches: Matches, within: Domain | None = None
    ) -> None:
        """Computes all capacities. `within`: leaves outside this domain have no capacity."""
        self.key = key
        self.matches = matches
        self.outside = 0  # matching leaves outside `within`
        self.levels: list[list[DomainCapacity]] = []
        above: list[DomainCapacity] = []
        for domains in tree.levels:
            above = [_capacity(domain, above) for domain in domains]
            self.levels.append(above)
        self._leaves: dict[LeafCapacity, DomainCapacity] = {}  # eligible ones
        for capacity in above:
            if self._is_eligible(capacity, within):
                self._leaves[tree.leaves[tree.assigned_values(capacity.domain.values)].leaf_capacity] = (
                    capacity
                )
                capacity.affinity = matches.scores[capacity.rank]
        self._inner = dict(key.inner)
        self._journal = tree.journal
        self._counted = len(self._journal)  # processed entries of the journal
        self._count(self._leaves)

    def _is_eligible(self, leaf: DomainCapacity, within: Domain | None) -> bool:
        if leaf.rank not in self.matches.scores:
            return False
        inside = within is None or leaf.domain.ancestor(within.level) is within
        self.outside += not inside
        return inside

    def refresh(self) -> None:
        """Updates the leaves whose capacity has changed since the last call, and the domains above them."""
        changed = set(self._journal[self._counted :])
        self._counted = len(self._journal)
        self._count(changed & self._leaves.keys())

    def _count(self, leaf_capacities: Iterable[LeafCapacity]) -> None:
        """Computes leaves and all domains above them."""
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

    def full_leaves(self) -> dict[str, int]:
        """Returns the number of eligible leaves without capacity for a pod, by limiting resource."""
        full: dict[str, int] = {}
        for leaf in self._leaves.values():
            if not leaf.pods:
                full[leaf.limited_by] = full.get(leaf.limited_by, 0) + 1
        return full


def _capacity(domain: Domain, above: list[DomainCapacity]) -> DomainCapacity:
    parent = above[domain.parent.rank] if domain.parent is not None else None
    capacity = DomainCapacity(domain, parent)
    if parent is not None:
        parent.children.append(capacity)
    return capacity
