"""The pods of a failed node go elsewhere, the others stay."""

import pytest

from muster.admission.model import TopologyRequest
from tests.unit.admission.builders import taint
from tests.unit.admission.topology.scenes import (
    ANYWHERE,
    BLOCK,
    HOST,
    RACK,
    asks,
    cluster,
    gang,
    node,
    place,
    place_one,
    placed,
    pods,
)

NODES = ("a/r1/x1=2", "a/r1/x2=2", "a/r2/x3=2", "a/r2/x4=2", "a/r2/x5=2", "b/r1/x6=4")
IN_RACKS = asks(BLOCK, None, (RACK, 4))

CASES = {
    "in the domain that is required": (asks(RACK), "x1:1 x2:1", "x2", "x1:2"),
    "in the block that is required": (asks(BLOCK), "x1:2 x3:2", "x1", "x2:2 x3:2"),
    "anywhere": (ANYWHERE, "x1:2 x3:2", "x3", "x1:2 x2:2"),
    "preferred": (asks(None, RACK), "x1:2 x3:1", "x3", "x1:2 x2:1"),
    "the only node": (asks(RACK), "x1:2", "x1", "x2:2"),
    "on a node that has pods of the set already": (ANYWHERE, "x1:1 x2:1", "x2", "x1:2"),
    "in the rack of the broken slice": (IN_RACKS, "x1:2 x2:2 x3:2 x4:2", "x4", "x1:2 x2:2 x3:2 x5:2"),
    "a whole slice": (asks(None, BLOCK, (HOST, 2)), "x1:2 x6:4", "x1", "x2:2 x6:4"),
    "whole inner slices in the rack of the broken outer one": (
        asks(BLOCK, None, (RACK, 4), (HOST, 2)),
        "x1:2 x2:2 x3:2 x4:2",
        "x3",
        "x1:2 x2:2 x4:2 x5:2",
    ),
    "the innermost broken slice counts": (
        asks(BLOCK, None, (BLOCK, 4), (RACK, 2)),
        "x1:2 x3:1 x4:1",
        "x3",
        "x1:2 x4:2",
    ),
}


@pytest.mark.parametrize(("request_", "current", "failed", "expected"), CASES.values(), ids=CASES.keys())
def test_pods_of_the_failed_node_go_to_these_domains(
    request_: TopologyRequest, current: str, failed: str, expected: str
) -> None:
    """The failed node is cordoned, the pods that stay take their room."""
    nodes = [
        node(topology_node, ready=topology_node.split("/")[-1].split("=")[0] != failed)
        for topology_node in NODES
    ]
    topologies = cluster(*nodes)
    topologies.add(
        [gang(topology_node) for topology_node in current.split() if not topology_node.startswith(failed)]
    )
    request = pods(1, request_, current=placed(current))
    assert place_one(topologies, request, unhealthy=(failed,)) == expected


REFUSALS = {
    "another node is deleted too": (
        asks(RACK),
        "x1:1 x9:1",
        "x1",
        "Cannot replace the node, because the existing topologyAssignment is invalid, "
        "as it contains the stale domain x9",
    ),
    "no pods of it are there": (
        asks(RACK),
        "x1:1",
        "x3",
        "cannot find replacement assignment for unhealthy node: x3",
    ),
    "not in the domain that is required": (
        asks(RACK),
        "x1:2 x2:2",
        "x2",
        'topology "t" doesn\'t allow to fit any of 2 pod(s). Total nodes: 6; '
        'excluded: resource "gpu": 1, taint "down:NoSchedule": 1, topologyDomain: 4',
    ),
    "not even whole slices": (
        asks(None, BLOCK, (RACK, 3)),
        "x1:3 x3:2",
        "x3",
        "2 pods do not make whole slices of 3",
    ),
    "slices alone, broken": (asks(None, None, (RACK, 2)), "x1:1 x2:1", "x2", "topology level not specified"),
    "slices of no level": (
        asks(None, RACK, ("zone", 2)),
        "x1:1 x2:1",
        "x2",
        "no requested topology level for slices: zone",
    ),
    "slices without a size": (
        asks(RACK, None, (HOST, 0)),
        "x1:1 x2:1",
        "x2",
        "slice topology requested, but slice size not provided",
    ),
    "a level that there is not": (asks("zone"), "x1:1 x2:1", "x2", "no requested topology level: zone"),
    "no topology": (None, "x1:1 x2:1", "x2", "topology level not specified"),
}


@pytest.mark.parametrize(
    ("request_", "current", "failed", "expected"), REFUSALS.values(), ids=REFUSALS.keys()
)
def test_refusal_says_why_a_node_cannot_be_replaced(
    request_: TopologyRequest | None, current: str, failed: str, expected: str
) -> None:
    """The failed node is there, but tainted."""
    nodes = [
        node(topology_node, taints=(taint("down"),) if f"/{failed}=" in topology_node else ())
        for topology_node in NODES
    ]
    topologies = cluster(*nodes)
    topologies.add([gang(current)])
    request = pods(1, request_, current=placed(current))
    assert place_one(topologies, request, unhealthy=(failed,)) == expected


def test_pod_sets_are_replaced_one_after_the_other() -> None:
    both = [pods(1, ANYWHERE, name=name, current=placed("x1:1")) for name in ("a", "b")]
    placement = place(
        cluster("x2=1", "x3=1"), *both, pods(1, ANYWHERE, name="none there"), unhealthy=("x1", "x9")
    )
    assert placement == {"a": "x2:1", "b": "x3:1"}


def test_a_single_pod_stays_where_it_is() -> None:
    request = pods(1, ANYWHERE, current=placed("x1:1"))
    assert place_one(cluster("x2=1"), request, unhealthy=("x1",), pinned=True) == "x1:1"
    moving = cluster("x2=1", topology_keeps_pinned=False)
    assert place_one(moving, request, unhealthy=("x1",), pinned=True) == "x2:1"
