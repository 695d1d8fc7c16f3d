"""Slices: parts of a pod set that each stay in one domain; also slices within slices."""

import pytest

from muster.admission.model import TopologyRequest
from tests.unit.admission.topology.scenes import BLOCK, HOST, RACK, asks, cluster, place_one, pods

CASES = {
    "each slice in one rack": (
        ("a/r1/x1=3", "a/r2/x2=2", "a/r2/x3=2"),
        asks(BLOCK, None, (RACK, 2)),
        6,
        "x1:2 x2:2 x3:2",
    ),
    "each slice on one host": (("r1/x1=3", "r1/x2=2"), asks(RACK, None, (HOST, 2)), 4, "x1:2 x2:2"),
    "the hosts with least left over first, the last slice as tight as possible": (
        ("r1/x1=5", "r1/x2=4", "r1/x3=2"),
        asks(RACK, None, (HOST, 2)),
        6,
        "x2:4 x3:2",
    ),
    "only slices: the pods go anywhere": (
        ("r1/x1=2", "r2/x2=4", "r3/x3=3"),
        asks(None, None, (RACK, 2)),
        4,
        "x2:4",
    ),
    "only slices, several domains: the fullest first": (
        ("r1/x1=2", "r2/x2=4", "r3/x3=3"),
        asks(None, None, (RACK, 2)),
        8,
        "x1:2 x2:4 x3:2",
    ),
    "slices of a preferred level": (
        ("a/r1/x1=2", "b/r1/x2=2", "b/r2/x3=3"),
        asks(None, RACK, (HOST, 2)),
        4,
        "x2:2 x3:2",
    ),
    "slices within slices: a host that takes one pod of a pair is left out": (
        ("a/r1/x1=3", "a/r1/x2=2", "a/r2/x3=3", "a/r2/x4=1"),
        asks(BLOCK, None, (RACK, 4), (HOST, 2)),
        4,
        "x1:2 x2:2",
    ),
    "slices within slices hold at the levels between": (
        ("a/r1/x1=2", "a/r1/x2=1", "a/r2/x3=2", "b/r1/x4=2", "b/r2/x5=2"),
        asks(BLOCK, None, (BLOCK, 4), (HOST, 2)),
        4,
        "x1:2 x3:2",
    ),
}


@pytest.mark.parametrize(("nodes", "request_", "count", "expected"), CASES.values(), ids=CASES.keys())
def test_slices_stay_whole(
    nodes: tuple[str, ...], request_: TopologyRequest, count: int, expected: str
) -> None:
    assert place_one(cluster(*nodes), pods(count, request_)) == expected
