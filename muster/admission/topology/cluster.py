"""The topologies of all flavors over the cluster's nodes: usage, and placement of workloads."""

from collections.abc import Iterable, Mapping, Sequence

from muster.admission.model import (
    HOSTNAME,
    Flavor,
    Node,
    Resources,
    Rules,
    Topology,
    TopologyAssignment,
    TopologyRequest,
)
from muster.admission.topology.domains import Journal, LeafCapacity, requests_of_one_pod, usable
from muster.admission.topology.elastic import resize
from muster.admission.topology.flavor import FlavorTopology
from muster.admission.topology.near import place_near
from muster.admission.topology.placements import PlacementRefusal, Placements, TopologyUsage
from muster.admission.topology.replacement import replace_node
from muster.admission.topology.request import PlacementRequest

_NO_REQUEST = TopologyRequest()
_JOURNAL_MAX = 20_000
"""The maximum number of entries; then the journal and all cached capacities are dropped."""


class Topologies:
    """The topologies of a snapshot's flavors; the package's docstring describes the methods."""

    __slots__ = ("_assumed", "_flavors", "_hosts", "_journal", "_rules")

    def __init__(
        self,
        flavors: Mapping[str, Flavor],
        topologies: Mapping[str, Topology],
        nodes: Mapping[str, Node],
        rules: Rules,
    ) -> None:
        self._rules = rules
        self._journal: Journal = []
        in_order = [nodes[name] for name in sorted(nodes)]
        self._hosts: dict[str, LeafCapacity] = {}
        for node in in_order:
            if usable(node) and HOSTNAME in node.labels:
                self._hosts.setdefault(node.labels[HOSTNAME], LeafCapacity(self._journal)).add_node(node)
        self._flavors: dict[str, FlavorTopology] = {}
        for name, flavor in flavors.items():
            topology = topologies.get(flavor.topology or "")
            if topology is not None and topology.levels:
                self._flavors[name] = FlavorTopology(
                    topology, flavor, in_order, self._hosts, self._journal, rules
                )
        self._assumed: dict[LeafCapacity, None] = {}

    def __contains__(self, flavor: str) -> bool:
        return flavor in self._flavors

    def has_levels(self, flavor: str, request: TopologyRequest | None) -> bool:
        """Returns whether the flavor's topology has all requested levels."""
        return self._flavors[flavor].has_levels(request or _NO_REQUEST)

    def add(self, placed: Iterable[TopologyUsage]) -> None:
        """Adds the usage of placed pods."""
        self._count(placed, 1)

    def remove(self, placed: Iterable[TopologyUsage]) -> None:
        """Removes the usage of placed pods."""
        self._count(placed, -1)

    def _count(self, placed: Iterable[TopologyUsage], sign: int) -> None:
        """Adds usage, or removes it if `sign` is -1; domains without usable nodes are skipped."""
        for gang in placed:
            requests = requests_of_one_pod(gang.requests)
            for domain in gang.assignment.domains:
                leaf_capacity = self._leaf_capacity(gang.flavor, gang.assignment, domain.values)
                if leaf_capacity is not None:
                    leaf_capacity.take(requests, sign * domain.count)

    def fits(self, placed: Iterable[TopologyUsage]) -> bool:
        """Returns whether all requests fit on the nodes."""
        needed: dict[LeafCapacity, dict[str, int]] = {}
        for gang in placed:
            requests = requests_of_one_pod(gang.requests)
            flavor = self._flavors.get(gang.flavor)
            for domain in gang.assignment.domains:
                leaf = flavor.tree.leaves.get(domain.values) if flavor else None
                if leaf is None:
                    return False
                of_leaf = needed.setdefault(leaf.leaf_capacity, {})
                for resource, amount in requests:
                    of_leaf[resource] = of_leaf.get(resource, 0) + amount * domain.count
        return all(leaf_capacity.fits(amounts) for leaf_capacity, amounts in needed.items())

    def place(
        self,
        requests: Mapping[str, Sequence[PlacementRequest]],
        unhealthy: Sequence[str] = (),
        pinned: bool = False,
        empty: bool = False,
    ) -> Placements:
        """Places all pod sets of a workload; see the package's docstring for the parameters."""
        self._limit_journal()
        groups = [
            (self._flavors[name], group) for name in sorted(requests) for group in _groups(requests[name])
        ]
        assignments: dict[str, TopologyAssignment] = {}
        try:
            for at, (flavor, group) in enumerate(groups):
                if unhealthy:
                    placed = self._replace_node(flavor, group, unhealthy[0], pinned)
                else:
                    placed = self._place_group(flavor, group, empty, last=at + 1 == len(groups))
                if isinstance(placed, PlacementRefusal):
                    return Placements(assignments, placed)
                assignments |= placed
        finally:
            # Assumed usage must not count for the next workload, even after an error.
            self._clear_assumed()
        return Placements(assignments)

    def _limit_journal(self) -> None:
        if len(self._journal) > _JOURNAL_MAX:
            self._journal.clear()
            for flavor in self._flavors.values():
                flavor.clear_cache()

    def _place_group(
        self, flavor: FlavorTopology, group: list[PlacementRequest], empty: bool, last: bool
    ) -> dict[str, TopologyAssignment] | PlacementRefusal:
        workers, *others = sorted(group, key=lambda request: -request.count)
        leader = others[0] if others else None
        if leader is not None and (len(others) > 1 or leader.count != 1):
            return flavor.refuse(f"the group {leader.group} is not one leader and its workers", workers)

        def assume(request: PlacementRequest, assignment: TopologyAssignment) -> None:
            self._assume(flavor, assignment, request.pod_set.requests_of_nodes)

        if self._rules.topology_elastic:
            resized = resize(flavor, workers, leader, assume, empty)
            if resized is not None:
                return resized
        placed = place_near(flavor, workers, leader, empty)
        if not last and not isinstance(placed, PlacementRefusal):
            for request in group:
                assume(request, placed[request.pod_set.name])
        return placed

    def _replace_node(
        self, flavor: FlavorTopology, group: list[PlacementRequest], failed: str, pinned: bool
    ) -> dict[str, TopologyAssignment] | PlacementRefusal:
        assignments: dict[str, TopologyAssignment] = {}
        for request in group:
            if request.current is None:
                continue
            name = request.pod_set.name
            if pinned and self._rules.topology_keeps_pinned:
                assignments[name] = request.current
                continue
            replaced = replace_node(flavor, request, request.current, failed)
            if isinstance(replaced, PlacementRefusal):
                return replaced
            assignments[name], moved = replaced
            self._assume(flavor, moved, request.pod_set.requests_of_nodes)
        return assignments

    def _assume(self, flavor: FlavorTopology, assignment: TopologyAssignment, requests: Resources) -> None:
        for domain in assignment.domains:
            leaf_capacity = flavor.tree.leaves[domain.values].leaf_capacity
            leaf_capacity.assume(requests_of_one_pod(requests), domain.count)
            self._assumed[leaf_capacity] = None

    def _clear_assumed(self) -> None:
        for leaf_capacity in self._assumed:
            leaf_capacity.clear_assumed()
        self._assumed.clear()

    def _leaf_capacity(
        self, flavor: str, assignment: TopologyAssignment, values: tuple[str, ...]
    ) -> LeafCapacity | None:
        """Returns the capacity of a leaf; all flavors share that of a host."""
        if assignment.levels[-1:] == (HOSTNAME,):
            return self._hosts.get(values[-1])
        topology = self._flavors.get(flavor)
        leaf = topology.tree.leaves.get(values) if topology else None
        return leaf.leaf_capacity if leaf else None


def _groups(requests: Sequence[PlacementRequest]) -> list[list[PlacementRequest]]:
    """Groups requests by pod set group; a pod set without one forms its own."""
    groups: dict[str | int, list[PlacementRequest]] = {}
    for at, request in enumerate(requests):
        groups.setdefault(at if request.group is None else request.group, []).append(request)
    return list(groups.values())
