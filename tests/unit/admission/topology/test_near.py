"""Additional pods are placed near the other pods of their set."""

import pytest

from tests.unit.admission.topology.scenes import ANYWHERE, RACK, asks, cluster, gang, place_one, pods

NODES = ("r1/x1=2", "r1/x2=2", "r2/y1=4", "r2/y2=1")
AT_X1 = (("x1",),)

CASES = {
    "required: in their rack, not where it fits best": (asks(RACK, near=AT_X1), "r1", "x2:1"),
    "preferred: in their rack": (asks(preferred=RACK, near=AT_X1), "r1", "x2:1"),
    "preferred: their rack is full": (asks(preferred=RACK, near=(("y2",),)), "r2", "x2:1"),
    "unconstrained: anywhere": (asks(unconstrained=True, near=AT_X1), "r1", "y2:1"),
    "the first node is deleted: another one has the rack": (asks(RACK, near=(("z",), ("x1",))), "r1", "x2:1"),
    "preferred: all nodes are deleted": (asks(preferred=RACK, near=(("z",),)), "r1", "y2:1"),
}


@pytest.mark.parametrize(("request_near", "rack", "expected"), CASES.values(), ids=CASES.keys())
def test_further_pods_are_placed_near_the_others(request_near: object, rack: str, expected: str) -> None:
    topologies = cluster(*NODES)
    topologies.add([gang("x1:2"), gang("y1:4")] + ([gang("y2:1")] if rack == "r2" else []))
    assert place_one(topologies, pods(1, request_near)) == expected  # type: ignore[arg-type]


def test_a_required_rack_that_is_full_or_gone_is_the_reason() -> None:
    topologies = cluster(*NODES)
    topologies.add([gang("x1:2 x2:2")])
    assert place_one(topologies, pods(1, asks(RACK, near=AT_X1))) == (
        'topology "t" doesn\'t allow to fit any of 1 pod(s). Total nodes: 4; excluded: resource "gpu": 2, '
        "topologyDomain: 2"
    )
    gone = place_one(topologies, pods(1, asks(RACK, near=(("z",),))))
    assert gone == "no usable node is left in the rack of its other pods"


def test_pods_without_others_are_placed_as_ever() -> None:
    assert place_one(cluster(*NODES), pods(1, ANYWHERE)) == "y2:1"
