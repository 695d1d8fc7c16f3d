"""Properties of every placement, for any cluster and any request."""

from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.admission.model import Node, PreferredTerm, Requirement, TopologyAssignment, TopologyRequest
from muster.admission.topology import PlacementRequest, Topologies, TopologyUsage
from tests.unit.admission.strategies import examples
from tests.unit.admission.topology.scenes import (
    BLOCK,
    FLAVOR,
    GPU,
    HOST,
    RACK,
    answer,
    asks,
    cluster,
    node,
    pods,
)

LEVELS = (BLOCK, RACK, HOST)


def in_zone(text: str, zone: str) -> Node:
    plain = node(text)
    return replace(plain, labels={**plain.labels, "zone": zone})


nodes = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("rst"), st.integers(0, 5), st.sampled_from("yz")),
    min_size=1,
    max_size=10,
).map(
    lambda of: [
        in_zone(f"{block}/{rack}/x{at}={gpus}", zone) for at, (block, rack, gpus, zone) in enumerate(of)
    ]
)

rules = st.fixed_dictionaries(
    {
        "topology_mixed": st.booleans(),
        "topology_balanced": st.booleans(),
        "topology_prefers_affinity": st.booleans(),
    }
)
PREFERS = (PreferredTerm(1, (Requirement("zone", "In", ("z",)),)),)


@st.composite
def topology_requests(draw: st.DrawFn) -> tuple[TopologyRequest, int]:
    """A request with the size of the outermost slice."""
    level = draw(st.integers(0, 2))
    near = draw(st.sampled_from(["required", "preferred", "unconstrained"]))
    if near == "unconstrained":
        return asks(unconstrained=True), 1
    slices: list[tuple[str, int]] = []
    if draw(st.booleans()):
        outer = draw(st.integers(level, 2))
        slices.append((LEVELS[outer], draw(st.sampled_from([2, 4]))))
        if outer < 2 and draw(st.booleans()):
            slices.append((LEVELS[draw(st.integers(outer + 1, 2))], 2))
    both = (LEVELS[level], None) if near == "required" else (None, LEVELS[level])
    return asks(*both, *slices), slices[0][1] if slices else 1


@st.composite
def gangs(draw: st.DrawFn) -> list[PlacementRequest]:
    """One pod set, or a leader with its workers."""
    topology, size = draw(topology_requests())
    count, gpus = size * draw(st.integers(1, 5)), draw(st.integers(1, 2))
    if not draw(st.booleans()):
        return [pods(count, topology, gpus, affinity_preferred=PREFERS)]
    slices = [(part.level, part.size) for part in topology.slices]
    grouped = asks(
        topology.required, topology.preferred, *slices, unconstrained=topology.unconstrained, group="g"
    )
    leader = pods(1, grouped, draw(st.integers(0, 3)), "leader")
    return [leader, pods(count, grouped, gpus, "workers", affinity_preferred=PREFERS)]


def gpus_used(requests: list[PlacementRequest], assignments: dict[str, TopologyAssignment]) -> Counter[str]:
    used: Counter[str] = Counter()
    for request in requests:
        for domain in assignments[request.pod_set.name].domains:
            used[domain.values[0]] += domain.count * request.pod_set.requests[GPU]
    return used


@settings(max_examples=examples(150), deadline=None)
@given(nodes, gangs(), rules)
def test_all_pods_fit_where_they_are_placed_as_they_asked(
    nodes: list[Node], requests: list[PlacementRequest], rules: dict[str, Any]
) -> None:
    placements = cluster(*nodes, levels=LEVELS, **rules).place({FLAVOR: requests})
    if placements.refusal is not None:
        return
    placed_by_pod_set = dict(placements.assignments)
    hosts = {node.labels[HOST]: node for node in nodes}
    for host, used in gpus_used(requests, placed_by_pod_set).items():
        assert used <= hosts[host].allocatable[GPU]
    for request in requests:
        domains = placed_by_pod_set[request.pod_set.name].domains
        assert sum(domain.count for domain in domains) == request.count
        assert all(domain.count > 0 for domain in domains)
        assert list(domains) == sorted(domains, key=lambda domain: place_of(hosts[domain.values[0]]))
        asked = request.pod_set.topology
        assert asked is not None
        if asked.required:
            at = LEVELS.index(asked.required) + 1
            assert len({place_of(hosts[domain.values[0]])[:at] for domain in domains}) == 1
        for part in asked.slices if request.pod_set.name != "leader" else ():
            at = LEVELS.index(part.level) + 1
            count: Counter[tuple[str, ...]] = Counter()
            for domain in domains:
                count[place_of(hosts[domain.values[0]])[:at]] += domain.count
            assert all(pods % part.size == 0 for pods in count.values())


def place_of(node: Node) -> tuple[str, ...]:
    return tuple(node.labels[level] for level in LEVELS)


@settings(max_examples=examples(60), deadline=None)
@given(nodes, st.lists(st.tuples(gangs(), st.booleans()), min_size=1, max_size=8), rules)
def test_kept_counts_equal_fresh_counts(
    nodes: list[Node], steps: list[tuple[list[PlacementRequest], bool]], rules: dict[str, Any]
) -> None:
    """Gangs come and go; each is placed as in a cluster that is built for it, and the end is the start."""

    def fresh() -> Topologies:
        return cluster(*nodes, levels=LEVELS, **rules)

    running_sets, placed = fresh(), list[list[TopologyUsage]]()
    for requests, leaves in steps:
        rebuilt = fresh()
        for gang in placed:
            rebuilt.add(gang)
        placements = running_sets.place({FLAVOR: requests})
        assert answer(placements) == answer(rebuilt.place({FLAVOR: requests}))
        if placements.refusal is None:
            placed_by_pod_set = {request.pod_set.name: request.pod_set.requests for request in requests}
            gang = [
                TopologyUsage(FLAVOR, of, placed_by_pod_set[name])
                for name, of in placements.assignments.items()
            ]
            assert running_sets.fits(gang)
            running_sets.add(gang)
            placed.append(gang)
        if leaves and placed:
            running_sets.remove(placed.pop(0))
    for gang in placed:
        running_sets.remove(gang)
    last = steps[-1][0]
    assert answer(running_sets.place({FLAVOR: last})) == answer(fresh().place({FLAVOR: last}))
