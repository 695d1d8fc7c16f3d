"""Tests which nodes pods may use, and the message."""

from typing import Any

import pytest

from muster.admission.model import HOSTNAME, Flavor, Node, PreferredTerm, Requirement, Taint, TaintEffect
from muster.admission.topology import Exclusions, Topologies
from tests.unit.admission.builders import taint, tolerate
from tests.unit.admission.topology.scenes import (
    ANYWHERE,
    FLAVOR,
    HOST,
    RACK,
    asks,
    cluster,
    node,
    place_one,
    pods,
)


def labelled(text: str, **labels: str) -> Node:
    plain = node(text)
    return node(text, labels={**plain.labels, **labels})


NODES = (
    node("x1=1", taints=(taint("gpu", "yes"),)),
    node("x2=1", taints=(taint("spot", effect=TaintEffect.NO_EXECUTE),)),
    node("x3=1", taints=(taint("old", effect=TaintEffect.PREFER_NO_SCHEDULE),)),
    labelled("x4=1", zone="a"),
    labelled("x5=1", zone="b"),
)
IN_A = (Requirement("zone", "In", ("a",)),)
NOT_IN_A = (Requirement("zone", "NotIn", ("a",)),)

CASES: dict[str, tuple[dict[str, Any], str]] = {
    "taints exclude nodes, except PreferNoSchedule": ({}, "x3:1 x4:1 x5:1"),
    "tolerated": ({"tolerations": (tolerate("gpu", "yes"),)}, "x1:1 x3:1 x4:1 x5:1"),
    "node selector": ({"node_selector": {"zone": "a"}}, "x4:1"),
    "node affinity": ({"affinity": (IN_A,)}, "x4:1"),
    "node affinity of a label that is not there": ({"affinity": (NOT_IN_A,)}, "x3:1 x5:1"),
    "any term of the affinity will do": ({"affinity": (IN_A, (Requirement("zone", "Exists"),))}, "x4:1 x5:1"),
    "preferences do not exclude": ({"affinity_preferred": (PreferredTerm(1, IN_A),)}, "x3:1 x4:1 x5:1"),
}


@pytest.mark.parametrize(("fields", "expected"), CASES.values(), ids=CASES.keys())
def test_nodes_that_pods_may_go_to(fields: dict[str, Any], expected: str) -> None:
    count = len(expected.split())
    assert place_one(cluster(*NODES), pods(count, ANYWHERE, **fields)) == expected
    assert "allows to fit only" in place_one(cluster(*NODES), pods(count + 1, ANYWHERE, **fields))


def test_excluded_nodes_are_data_and_a_sentence() -> None:
    nodes = (*NODES, labelled("x6=0", zone="a"), labelled("x7=0", zone="a", kind="old"))
    new = ((Requirement("kind", "DoesNotExist"),),)
    request = pods(2, ANYWHERE, node_selector={"zone": "a"}, affinity=new)
    refusal = cluster(*nodes).place({FLAVOR: [request]}).refusal
    assert refusal is not None
    assert refusal.flavor == FLAVOR
    assert refusal.exclusions == Exclusions(
        total=7,
        selector=2,
        affinity=1,
        taints={"gpu=yes:NoSchedule": 1, "spot:NoExecute": 1},
        resources={"gpu": 1},
    )
    assert refusal.message == (
        'topology "t" allows to fit only 1 out of 2 pod(s). Total nodes: 7; excluded: affinity: 1, '
        'nodeSelector: 2, resource "gpu": 1, taint "gpu=yes:NoSchedule": 1, taint "spot:NoExecute": 1'
    )


def test_an_empty_affinity_term_matches_nothing() -> None:
    assert "affinity: 1" in place_one(cluster("x1=1"), pods(1, ANYWHERE, affinity=((),)))


def test_above_the_hosts_kubernetes_chooses_the_nodes() -> None:
    nodes = [node("r1/x1=1", taints=(Taint("any", "", TaintEffect.NO_SCHEDULE),)), node("r1/x2=1")]
    request = pods(2, asks(RACK), node_selector={"zone": "a"})
    assert place_one(cluster(*nodes, levels=(RACK,)), request) == "r1:2"


@pytest.mark.parametrize(
    "unusable",
    [
        node("x2=9", ready=False),
        node("x2=9", unschedulable=True),
        node("x2=9", labels={"pool": "a"}),
        labelled("x2=9", pool="b"),
    ],
    ids=["not ready", "cordoned", "without the label of a level", "of another flavor"],
)
def test_nodes_that_are_no_part_of_the_flavor(unusable: Node) -> None:
    flavors = {FLAVOR: Flavor(FLAVOR, {"pool": "a"}, topology="t")}
    topologies = cluster(labelled("x1=1", pool="a"), unusable, levels=(HOST,), flavors=flavors)
    assert "Total nodes: 1" in place_one(topologies, pods(1, ANYWHERE, gpus=2))


def test_tolerations_of_the_flavor_count_for_its_pods() -> None:
    flavors = {FLAVOR: Flavor(FLAVOR, topology="t", tolerations=(tolerate("gpu", "yes"),))}
    assert place_one(cluster(NODES[0], flavors=flavors), pods(1, ANYWHERE)) == "x1:1"


ALIKE = (labelled("r1/x1=2"), labelled("r2/x2=4", zone="a"), labelled("r3/x3=9", zone="b"))
PREFERRED = (PreferredTerm(5, IN_A), PreferredTerm(1, NOT_IN_A), PreferredTerm(9, ()))
PREFERENCES = {
    "before the tight fit": (asks(RACK), 1, "x2:1"),
    "a required domain must hold all": (asks(RACK), 5, "x3:5"),
    "before few domains": (asks(None, RACK), 5, "x1:1 x2:4"),
    "anywhere": (ANYWHERE, 5, "x3:5"),
}


@pytest.mark.parametrize(("request_", "count", "expected"), PREFERENCES.values(), ids=PREFERENCES.keys())
def test_preferred_affinity_where_the_rules_respect_it(request_: Any, count: int, expected: str) -> None:
    topologies = cluster(*ALIKE, topology_prefers_affinity=True)
    assert place_one(topologies, pods(count, request_, affinity_preferred=PREFERRED)) == expected


def test_a_required_domain_that_there_is_not_even_without_preferences() -> None:
    topologies = cluster(*ALIKE, topology_prefers_affinity=True)
    request = pods(10, asks(RACK), affinity_preferred=PREFERRED)
    assert place_one(topologies, request) == 'topology "t" allows to fit only 4 out of 10 pod(s)'


def test_a_preferred_domain_without_room_is_skipped() -> None:
    full, other = labelled("r1/x1=0", zone="a"), labelled("r2/x2=2")
    topologies = cluster(full, other, levels=(RACK, HOST), topology_prefers_affinity=True)
    request = pods(2, asks(None, RACK, (RACK, 2)), affinity_preferred=(PreferredTerm(1, IN_A),))
    assert place_one(topologies, request) == "x2:2"


def test_a_flavor_without_a_known_topology_is_none_to_place_on() -> None:
    flavors = {
        "plain": Flavor("plain"),
        "unknown": Flavor("unknown", topology="gone"),
        FLAVOR: Flavor(FLAVOR, topology="t"),
    }
    topologies: Topologies = cluster("x1=1", flavors=flavors)
    assert [name for name in flavors if name in topologies] == [FLAVOR]


LEVELS = {
    "none asked for": (None, False),
    "required": (asks(RACK), True),
    "required, unknown": (asks("zone"), False),
    "preferred": (asks(None, HOSTNAME), True),
    "anywhere": (ANYWHERE, True),
    "slices": (asks(None, None, (RACK, 2), (HOSTNAME, 1)), True),
    "slices, unknown": (asks(RACK, None, ("zone", 2)), False),
}


@pytest.mark.parametrize(("request_", "expected"), LEVELS.values(), ids=LEVELS.keys())
def test_topology_has_the_requested_levels(request_: Any, expected: bool) -> None:
    assert cluster("r1/x1=1").has_levels(FLAVOR, request_) is expected


def test_a_label_of_the_flavor_without_a_value_is_one_that_nodes_may_lack() -> None:
    """Same as in Kueue (NodeMatchesFlavor)."""
    flavors = {FLAVOR: Flavor(FLAVOR, {"pool": ""}, topology="t")}
    assert place_one(cluster("x1=1", flavors=flavors), pods(1, ANYWHERE)) == "x1:1"
