"""A flavor's topology: places one group of pods at a time, and remembers what it counted."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from muster.admission.model import Flavor, Node, Rules, Topology, TopologyAssignment, TopologyRequest
from muster.admission.topology.ask import Ask, has_levels, read_ask
from muster.admission.topology.balanced import balance
from muster.admission.topology.domains import Domain, DomainTree
from muster.admission.topology.nodes import Matches, NodeDemand, match
from muster.admission.topology.order import Profile, slices_of
from muster.admission.topology.reasons import exclusions_of, sentence
from muster.admission.topology.rooms import Rooms, Shape
from muster.admission.topology.search import TooLittle, search
from muster.admission.topology.spread import Share, descend, descend_apart, spread
from muster.admission.topology.stock import Journal, Stock, of_one_pod
from muster.admission.topology.values import NOTHING_EXCLUDED, Exclusions, PlacementRequest, Refusal

K = TypeVar("K")
V = TypeVar("V")

_REMEMBERED_MAX = 256
"""Shapes of pods whose rooms a flavor keeps; each is about as large as the tree."""


class FlavorTopology:
    __slots__ = ("_matches", "_name", "_rooms", "_rules", "_tolerations", "tree")

    def __init__(
        self,
        topology: Topology,
        flavor: Flavor,
        nodes: Iterable[Node],
        hosts: Mapping[str, Stock],
        journal: Journal,
        rules: Rules,
    ) -> None:
        """`hosts`: the stocks of all usable nodes by hostname."""
        self.tree = DomainTree(topology, flavor, nodes, hosts, journal)
        self._name = flavor.name
        self._tolerations = flavor.tolerations
        self._rules = rules
        self._matches: dict[NodeDemand, Matches] = {}
        self._rooms: dict[Shape, Rooms] = {}

    def has_levels(self, request: TopologyRequest) -> bool:
        return has_levels(request, self.tree.keys)

    def forget(self) -> None:
        """What was counted, before the journal starts anew."""
        self._rooms.clear()

    def place(
        self,
        workers: PlacementRequest,
        leader: PlacementRequest | None = None,
        empty: bool = False,
        within: Domain | None = None,
    ) -> dict[str, TopologyAssignment] | Refusal:
        """By pod set. `within`: no pod may go outside of this domain."""
        ask = read_ask(workers, 1 if leader else 0, self.tree.keys)
        if isinstance(ask, str):
            return self.refuse(ask, workers, leader)
        if ask.count % ask.slice_size:
            message = f"{ask.count} pods do not make whole slices of {ask.slice_size}"
            return self.refuse(message, workers, leader)
        if not ask.count:
            return {workers.pod_set.name: self.tree.assignment({})}
        if not self.tree.levels[ask.level]:
            key = self.tree.keys[ask.level]
            return self.refuse(f"no topology domains at level: {key}", workers, leader)
        rooms = self._rooms_for(self._shape(ask, workers, leader, empty), within)
        shares = self._shares(rooms, ask)
        if isinstance(shares, TooLittle):
            excluded = exclusions_of(rooms)
            message = sentence(self.tree, rooms, ask, shares, excluded)
            return self.refuse(message, workers, leader, excluded)
        placed = {
            workers.pod_set.name: self.tree.assignment({share.room.domain: share.pods for share in shares})
        }
        if leader is not None:
            hosts = {share.room.domain: share.leaders for share in shares}
            placed[leader.pod_set.name] = self.tree.assignment(hosts)
        return placed

    def _shares(self, rooms: Rooms, ask: Ask) -> list[Share] | TooLittle:
        """Of the leaves: all pods, never a part of them."""
        rules = self._rules
        least_free = rules.topology_mixed and ask.unconstrained
        profile = Profile(least_free, rules.topology_prefers_affinity)
        leaf_level = len(self.tree.keys) - 1
        if rules.topology_balanced and not ask.required and not ask.unconstrained:
            balanced = balance(rooms, ask, profile)
            found = descend_apart(balanced, ask, leaf_level, profile) if balanced else None
            if found is not None:
                return found
        chosen = search(rooms, ask, profile)
        if isinstance(chosen, TooLittle):
            return chosen
        shares = spread(chosen, ask.count, ask.leaders, slices_of(ask.slice_size), profile)
        found = None if shares is None else descend(shares, ask, leaf_level, profile)
        return TooLittle(chosen[0].domain.level, 0) if found is None else found

    def _shape(
        self, ask: Ask, workers: PlacementRequest, leader: PlacementRequest | None, empty: bool
    ) -> Shape:
        preferences = self._rules.topology_prefers_affinity
        return Shape(
            NodeDemand.of(workers.pod_set, self._tolerations, preferences),
            of_one_pod(workers.pod_set.requests),
            of_one_pod(leader.pod_set.requests) if leader else None,
            ask.slice_size,
            ask.slice_level,
            tuple(ask.inner.items()),
            empty,
        )

    def _rooms_for(self, shape: Shape, within: Domain | None) -> Rooms:
        if within is not None:
            return Rooms(self.tree, shape, self._match(shape.demand), within)
        rooms = self._rooms.get(shape)
        if rooms is None:
            rooms = _remember(self._rooms, shape, Rooms(self.tree, shape, self._match(shape.demand)))
        else:
            rooms.refresh()
        return rooms

    def _match(self, demand: NodeDemand) -> Matches:
        matches = self._matches.get(demand)
        if matches is None:
            matches = _remember(self._matches, demand, match(demand, self.tree.leaves.values()))
        return matches

    def refuse(
        self,
        message: str,
        workers: PlacementRequest,
        leader: PlacementRequest | None = None,
        excluded: Exclusions = NOTHING_EXCLUDED,
    ) -> Refusal:
        pod_sets = (workers.pod_set.name, *([leader.pod_set.name] if leader else []))
        return Refusal(self._name, pod_sets, message, excluded)


def _remember(memory: dict[K, V], key: K, value: V) -> V:
    """Bounded: the oldest goes."""
    if len(memory) >= _REMEMBERED_MAX:
        del memory[next(iter(memory))]
    memory[key] = value
    return value
