"""Templates of pods that are placed on a topology."""

from typing import Any

import pytest

from muster.admission import HOSTNAME, TopologyAssignment, TopologyDomain
from muster.cluster.jobs.domains import confined, placement_annotations, shared_labels
from muster.objects.names import UNCONSTRAINED_TOPOLOGY

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def assigned(levels: tuple[str, ...], *domains: tuple[str, ...]) -> TopologyAssignment:
    return TopologyAssignment(levels, tuple(TopologyDomain(values, 1) for values in domains))


def terms(affinity: Any) -> list[list[tuple[str, str, list[str]]]]:
    actual = affinity["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    return [[(e["key"], e["operator"], e["values"]) for e in term["matchExpressions"]] for term in actual]


ONE = assigned(("rack", "host"), ("r1", "x1"))
TWO = assigned((HOSTNAME,), ("x2",), ("x1",))
NEIGHBOURS = assigned(("rack", "host"), ("r1", "x1"), ("r1", "x2"))
APART = assigned(("rack", "host"), ("r1", "x1"), ("r2", "y1"))


@pytest.mark.parametrize(
    ("of", "labels", "expected"),
    [
        pytest.param(ONE, {"rack": "r1", "host": "x1"}, None, id="one domain"),
        pytest.param(TWO, {}, [[(HOSTNAME, "In", ["x1", "x2"])]], id="two hosts"),
        pytest.param(NEIGHBOURS, {"rack": "r1"}, [[("host", "In", ["x1", "x2"])]], id="in one rack"),
        pytest.param(
            APART,
            {},
            [
                [("rack", "In", ["r1"]), ("host", "In", ["x1"])],
                [("rack", "In", ["r2"]), ("host", "In", ["y1"])],
            ],
            id="in two racks",
        ),
        pytest.param(assigned((HOSTNAME,)), {}, None, id="nowhere"),
    ],
)
def test_pods_are_confined_to_their_domains(
    of: TopologyAssignment, labels: dict[str, str], expected: Any
) -> None:
    assert shared_labels(of) == labels
    affinity = confined({}, of)
    assert (terms(affinity) if affinity else None) == expected


def test_the_templates_own_node_terms_are_kept() -> None:
    asks = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]} for zone in "ab"]
    affinity = {
        "podAntiAffinity": {"kept": True},
        "nodeAffinity": {"preferred": "kept", REQUIRED: {"nodeSelectorTerms": asks}},
    }
    both = confined(affinity, TWO)
    assert both["podAntiAffinity"] == {"kept": True}
    assert both["nodeAffinity"]["preferred"] == "kept"
    assert terms(both) == [
        [("zone", "In", ["a"]), (HOSTNAME, "In", ["x1", "x2"])],
        [("zone", "In", ["b"]), (HOSTNAME, "In", ["x1", "x2"])],
    ]


def test_placed_pods_are_marked_once() -> None:
    assert placement_annotations({"other": "x"}) == {UNCONSTRAINED_TOPOLOGY: "true"}
    assert placement_annotations({"kueue.x-k8s.io/podset-required-topology": "rack"}) == {}
