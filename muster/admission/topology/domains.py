"""The topology domains of a flavor, its nodes under the levels of its topology, and the capacity of leaves.

Flavors may share nodes, so the trees of all flavors use the same object for the capacity of a host.
Source: Kueue's pkg/cache/scheduler/tas_topology_tree.go, tas_nodes_cache.go.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from muster.admission.model import (
    HOSTNAME,
    Flavor,
    Node,
    Resources,
    Topology,
    TopologyAssignment,
    TopologyDomain,
)

PODS = "pods"
_COUNT_MAX = 2**31 - 1  # for pods without requests

Requests = tuple[tuple[str, int], ...]
"""Requests of one pod, sorted by resource."""


class PodCount(NamedTuple):
    """The number of pods that fit, and the limiting resource."""

    pods: int
    limited_by: str


Journal = list["LeafCapacity"]
"""The leaves whose capacity changed, in order; a leaf may occur repeatedly."""


class LeafCapacity:
    """The capacity of a leaf. `total` is the allocatable capacity minus the usage of pods without an
    admission; `free` is `total` minus the usage of placed gangs; assumed usage is that of the placement in
    progress. The journal records each change, so that cached capacities can be refreshed."""

    __slots__ = ("_assumed", "_journal", "free", "total")

    def __init__(self, journal: "Journal") -> None:
        self._journal = journal
        self.total: dict[str, int] = {}
        self.free: dict[str, int] = {}
        self._assumed: dict[str, int] = {}

    def add_node(self, node: Node) -> None:
        """Adds the capacity of a node of this leaf."""
        for resource, amount in node.allocatable.items():
            self._add_capacity(resource, amount)
        for resource, amount in node.used.items():
            self._add_capacity(resource, -amount)

    def _add_capacity(self, resource: str, amount: int) -> None:
        self.total[resource] = self.total.get(resource, 0) + amount
        self.free[resource] = self.free.get(resource, 0) + amount

    def take(self, requests: Requests, pods: int) -> None:
        """Adds the usage of pods that are placed here; a negative number removes it."""
        for resource, amount in requests:
            self.free[resource] = self.free.get(resource, 0) - amount * pods
        self._journal.append(self)

    def assume(self, requests: Requests, pods: int) -> None:
        """Adds usage of the placement in progress, which `clear_assumed` removes."""
        for resource, amount in requests:
            self._assumed[resource] = self._assumed.get(resource, 0) + amount * pods
        self._journal.append(self)

    def clear_assumed(self) -> None:
        """Removes assumed usage."""
        self._assumed.clear()
        self._journal.append(self)

    def fits(self, amounts: Mapping[str, int]) -> bool:
        """Returns whether the free capacity covers these amounts."""
        return all(amount <= self.free.get(resource, 0) for resource, amount in amounts.items() if amount)

    def remaining(self, empty: bool = False) -> Mapping[str, int]:
        """Returns free capacity minus assumed usage, which may be negative. `empty` ignores placed gangs."""
        base = self.total if empty else self.free
        if not self._assumed:
            return base
        return {
            resource: base.get(resource, 0) - self._assumed.get(resource, 0)
            for resource in {*base, *self._assumed}
        }


def requests_of_one_pod(requests: Resources) -> Requests:
    """Returns the requests of one pod, including one of the node's `pods`."""
    return tuple(sorted({**requests, PODS: requests.get(PODS, 0) + 1}.items()))


def count_pods(requests: Requests, free: Mapping[str, int]) -> PodCount:
    """Counts the pods that fit. Of equally limiting resources it names the first by name.

    Source: Kueue's pkg/resources/requests.go."""
    pods, limited_by = _COUNT_MAX + 1, ""
    for resource, amount in requests:
        fitting = min(max(0, free.get(resource, 0) // amount), _COUNT_MAX) if amount else _COUNT_MAX
        if fitting < pods:
            pods, limited_by = fitting, resource
    return PodCount(pods, limited_by)


class Domain:
    """A topology domain. `values` are the label values from the top level down to its own; `rank` is its
    position among the domains of its level, sorted by values."""

    __slots__ = ("level", "parent", "rank", "values")

    def __init__(self, values: tuple[str, ...], parent: "Domain | None") -> None:
        self.values = values
        self.level = len(values) - 1
        self.parent = parent
        self.rank = 0

    def ancestor(self, level: int) -> "Domain":
        """Returns the domain at this level that contains it."""
        domain = self
        while domain.level > level and domain.parent is not None:
            domain = domain.parent
        return domain


class Leaf(Domain):
    """A domain of the lowest level; `node` is set if that level is the hostname."""

    __slots__ = ("leaf_capacity", "node")

    def __init__(
        self, values: tuple[str, ...], parent: Domain | None, leaf_capacity: LeafCapacity, node: Node | None
    ) -> None:
        super().__init__(values, parent)
        self.leaf_capacity = leaf_capacity
        self.node = node


class DomainTree:
    """The static tree of domains of a snapshot's nodes; `levels` has the domains of each level by rank."""

    __slots__ = ("by_host", "journal", "keys", "leaves", "levels", "topology")

    def __init__(
        self,
        topology: Topology,
        flavor: Flavor,
        nodes: Iterable[Node],
        hosts: Mapping[str, LeafCapacity],
        journal: Journal,
    ) -> None:
        self.topology = topology.name
        self.journal = journal
        self.keys = topology.levels
        self.by_host = HOSTNAME in topology.levels[-1:]
        domains: dict[tuple[str, ...], Domain] = {}
        self.leaves: dict[tuple[str, ...], Leaf] = {}  # by values of assignments
        for node in nodes:
            if usable(node) and _belongs(node, flavor, self.keys):
                self._add_node(domains, node, hosts)
        self.levels: list[list[Domain]] = [[] for _ in self.keys]
        for values in sorted(domains):
            level = self.levels[len(values) - 1]
            domains[values].rank = len(level)
            level.append(domains[values])

    def _add_node(
        self, domains: dict[tuple[str, ...], Domain], node: Node, hosts: Mapping[str, LeafCapacity]
    ) -> None:
        values = tuple(node.labels[key] for key in self.keys)
        leaf = self.leaves.get(self.assigned_values(values))
        if leaf is None:
            leaf_capacity = hosts[values[-1]] if self.by_host else LeafCapacity(self.journal)
            parent = _get_or_add(domains, values[:-1]) if len(values) > 1 else None
            leaf = Leaf(values, parent, leaf_capacity, node if self.by_host else None)
            self.leaves[self.assigned_values(values)] = domains[values] = leaf
        if not self.by_host:
            leaf.leaf_capacity.add_node(node)

    def assigned_values(self, values: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the values by which an assignment identifies a leaf: a hostname is unique."""
        return values[-1:] if self.by_host else values

    def level(self, key: str) -> int | None:
        """Returns the level of a node label, 0 for the widest; None if the Topology does not have it."""
        return self.keys.index(key) if key in self.keys else None

    def assignment(self, pods: Mapping[Domain, int]) -> TopologyAssignment:
        """Returns the assignment of pods to leaves, sorted by their values."""
        return TopologyAssignment(
            self.assigned_values(self.keys),
            tuple(
                TopologyDomain(self.assigned_values(leaf.values), pods[leaf])
                for leaf in sorted(pods, key=lambda leaf: leaf.rank)
                if pods[leaf]
            ),
        )

    def merged(self, *assignments: TopologyAssignment) -> TopologyAssignment:
        """Returns the sum of assignments of one pod set; all their domains must be leaves of this tree."""
        pods: dict[Domain, int] = {}
        for assignment in assignments:
            for domain in assignment.domains:
                leaf = self.leaves[domain.values]
                pods[leaf] = pods.get(leaf, 0) + domain.count
        return self.assignment(pods)

    def stale(self, assignment: TopologyAssignment) -> TopologyDomain | None:
        """Returns the first domain of the assignment without a usable node."""
        return next((domain for domain in assignment.domains if domain.values not in self.leaves), None)


def usable(node: Node) -> bool:
    """Returns whether pods can be scheduled to the node."""
    return node.ready and not node.unschedulable


def _belongs(node: Node, flavor: Flavor, keys: tuple[str, ...]) -> bool:
    labels = node.labels
    return all(key in labels for key in keys) and all(
        labels.get(key, "") == value for key, value in flavor.node_labels.items()
    )


def _get_or_add(domains: dict[tuple[str, ...], Domain], values: tuple[str, ...]) -> Domain:
    """Returns the domain with these values; adds it, and its ancestors, if missing."""
    domain = domains.get(values)
    if domain is None:
        parent = _get_or_add(domains, values[:-1]) if len(values) > 1 else None
        domain = domains[values] = Domain(values, parent)
    return domain
