"""The topology of a flavor: places one pod set group at a time, with cached capacities."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from muster.admission.model import Flavor, Node, Rules, Topology, TopologyAssignment, TopologyRequest
from muster.admission.topology.balanced import balance
from muster.admission.topology.domain_capacity import CapacityKey, DomainCapacities
from muster.admission.topology.domains import Domain, DomainTree, Journal, LeafCapacity, requests_of_one_pod
from muster.admission.topology.nodes import Matches, NodeDemand, match
from muster.admission.topology.placements import (
    NOTHING_EXCLUDED,
    Exclusions,
    PlacementRefusal,
    exclusions_of,
    sentence,
)
from muster.admission.topology.request import LevelRequest, PlacementRequest, has_levels, resolve_request
from muster.admission.topology.search import InsufficientCapacity, PlacementProfile, search, slices_of
from muster.admission.topology.spread import DomainPods, descend, descend_separately, spread

K = TypeVar("K")
V = TypeVar("V")

_CACHED_MAX = 256
"""Kinds of pods with cached capacities per flavor; each entry is about as large as the tree."""


class FlavorTopology:
    """The topology of one flavor: its domains, and their capacity for pods."""

    __slots__ = ("_capacities", "_matches", "_name", "_rules", "_tolerations", "tree")

    def __init__(
        self,
        topology: Topology,
        flavor: Flavor,
        nodes: Iterable[Node],
        hosts: Mapping[str, LeafCapacity],
        journal: Journal,
        rules: Rules,
    ) -> None:
        """Builds the domain tree. `hosts`: the capacities of all usable nodes by hostname."""
        self.tree = DomainTree(topology, flavor, nodes, hosts, journal)
        self._name = flavor.name
        self._tolerations = flavor.tolerations
        self._rules = rules
        self._matches: dict[NodeDemand, Matches] = {}
        self._capacities: dict[CapacityKey, DomainCapacities] = {}

    def has_levels(self, request: TopologyRequest) -> bool:
        """Returns whether the Topology has all levels that the request names."""
        return has_levels(request, self.tree.keys)

    def clear_cache(self) -> None:
        """Drops all cached capacities, before the journal is cleared."""
        self._capacities.clear()

    def place(
        self,
        workers: PlacementRequest,
        leader: PlacementRequest | None = None,
        empty: bool = False,
        within: Domain | None = None,
    ) -> dict[str, TopologyAssignment] | PlacementRefusal:
        """Returns assignments by pod set, or the refusal. `within`: the domain that pods must not leave."""
        request = resolve_request(workers, 1 if leader else 0, self.tree.keys)
        if isinstance(request, str):
            return self.refuse(request, workers, leader)
        if request.count % request.slice_size:
            message = f"{request.count} pods do not make whole slices of {request.slice_size}"
            return self.refuse(message, workers, leader)
        if not request.count:
            return {workers.pod_set.name: self.tree.assignment({})}
        if not self.tree.levels[request.level]:
            key = self.tree.keys[request.level]
            return self.refuse(f"no topology domains at level: {key}", workers, leader)
        capacities = self._capacities_for(self._key(request, workers, leader, empty), within)
        shares = self._distribute(capacities, request)
        if isinstance(shares, InsufficientCapacity):
            excluded = exclusions_of(capacities)
            message = sentence(self.tree, capacities, request, shares, excluded)
            return self.refuse(message, workers, leader, excluded)
        placed = {
            workers.pod_set.name: self.tree.assignment(
                {share.capacity.domain: share.pods for share in shares}
            )
        }
        if leader is not None:
            hosts = {share.capacity.domain: share.leaders for share in shares}
            placed[leader.pod_set.name] = self.tree.assignment(hosts)
        return placed

    def _distribute(
        self, capacities: DomainCapacities, request: LevelRequest
    ) -> list[DomainPods] | InsufficientCapacity:
        """Returns the pods of each leaf, which include all pods of the request."""
        rules = self._rules
        least_free = rules.topology_mixed and request.unconstrained
        profile = PlacementProfile(least_free, rules.topology_prefers_affinity)
        leaf_level = len(self.tree.keys) - 1
        if rules.topology_balanced and not request.required and not request.unconstrained:
            balanced = balance(capacities, request, profile)
            shares = descend_separately(balanced, request, leaf_level, profile) if balanced else None
            if shares is not None:
                return shares
        chosen = search(capacities, request, profile)
        if isinstance(chosen, InsufficientCapacity):
            return chosen
        shares = spread(chosen, request.count, request.leaders, slices_of(request.slice_size), profile)
        if shares is not None:
            shares = descend(shares, request, leaf_level, profile)
        return InsufficientCapacity(chosen[0].domain.level, 0) if shares is None else shares

    def _key(
        self, request: LevelRequest, workers: PlacementRequest, leader: PlacementRequest | None, empty: bool
    ) -> CapacityKey:
        preferences = self._rules.topology_prefers_affinity
        return CapacityKey(
            NodeDemand.of(workers.pod_set, self._tolerations, preferences),
            requests_of_one_pod(workers.pod_set.requests_of_nodes),
            requests_of_one_pod(leader.pod_set.requests_of_nodes) if leader else None,
            request.slice_size,
            request.slice_level,
            tuple(request.inner.items()),
            empty,
        )

    def _capacities_for(self, key: CapacityKey, within: Domain | None) -> DomainCapacities:
        if within is not None:
            return DomainCapacities(self.tree, key, self._match(key.demand), within)
        capacities = self._capacities.get(key)
        if capacities is None:
            capacities = _cache(
                self._capacities, key, DomainCapacities(self.tree, key, self._match(key.demand))
            )
        else:
            capacities.refresh()
        return capacities

    def _match(self, demand: NodeDemand) -> Matches:
        matches = self._matches.get(demand)
        if matches is None:
            matches = _cache(self._matches, demand, match(demand, self.tree.leaves.values()))
        return matches

    def refuse(
        self,
        message: str,
        workers: PlacementRequest,
        leader: PlacementRequest | None = None,
        excluded: Exclusions = NOTHING_EXCLUDED,
    ) -> PlacementRefusal:
        """Returns the refusal of the workers, and of the leader placed with them."""
        pod_sets = (workers.pod_set.name, *([leader.pod_set.name] if leader else []))
        return PlacementRefusal(self._name, pod_sets, message, excluded)


def _cache(cache: dict[K, V], key: K, value: V) -> V:
    """Adds a cache entry; at the limit, drops the oldest."""
    if len(cache) >= _CACHED_MAX:
        del cache[next(iter(cache))]
    cache[key] = value
    return value
