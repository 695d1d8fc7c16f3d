"""Tests which domains the pods of one pod set get."""

import pytest

from muster.admission.model import TopologyRequest
from tests.unit.admission.topology.scenes import (
    ANYWHERE,
    BLOCK,
    HOST,
    RACK,
    asks,
    cluster,
    place_one,
    pods,
)

TWO_BLOCKS = ("a/r1/x1=1", "a/r1/x2=1", "a/r2/x3=2", "b/r1/x4=4", "b/r2/x5=1")
FLAT = ("x1=3", "x2=1", "x3=2")

CASES = {
    "a required host: the tightest that holds all": (TWO_BLOCKS, asks(HOST), 2, "x3:2"),
    "a required rack: the tightest, and few hosts in it": (TWO_BLOCKS, asks(RACK), 3, "x4:3"),
    "a required rack of two hosts": (("r1/x1=1", "r1/x2=1", "r2/x3=1"), asks(RACK), 2, "x1:1 x2:1"),
    "a required block, the roomiest rack first": (TWO_BLOCKS, asks(BLOCK), 5, "x4:4 x5:1"),
    "equal domains by their names": (("r2/x1=1", "r1/x2=1"), asks(RACK), 1, "x2:1"),
    "a preferred rack that there is": (TWO_BLOCKS, asks(None, RACK), 3, "x4:3"),
    "a preferred rack that only its block makes up for": (TWO_BLOCKS, asks(None, RACK), 5, "x4:4 x5:1"),
    "a preferred rack, several blocks": (TWO_BLOCKS, asks(None, RACK), 7, "x1:1 x2:1 x4:4 x5:1"),
    "of several, the last one as tight as possible": (
        ("r1/x1=4", "r2/x2=3", "r3/x3=1"),
        asks(None, RACK),
        5,
        "x1:4 x3:1",
    ),
    "anywhere: the fullest that holds all": (FLAT, ANYWHERE, 2, "x3:2"),
    "anywhere: the fullest ones first": (FLAT, ANYWHERE, 4, "x1:1 x2:1 x3:2"),
    "no pods": (FLAT, ANYWHERE, 0, ""),
}


@pytest.mark.parametrize(("nodes", "request_", "count", "expected"), CASES.values(), ids=CASES.keys())
def test_pods_go_to_the_tightest_domains(
    nodes: tuple[str, ...], request_: TopologyRequest, count: int, expected: str
) -> None:
    assert place_one(cluster(*nodes), pods(count, request_)) == expected


def test_without_the_mixed_profile_pods_that_go_anywhere_get_the_best_fit_too() -> None:
    assert place_one(cluster(*FLAT, topology_mixed=False), pods(4, ANYWHERE)) == "x1:3 x2:1"


def test_pods_of_a_queue_with_nothing_but_topologies_are_placed_anywhere() -> None:
    assert place_one(cluster(*FLAT), pods(1, None, implied=True)) == "x2:1"


def test_levels_that_end_above_the_hosts_are_told_whole() -> None:
    nodes = ("a/r1/x1=1", "a/r1/x2=2", "b/r1/x3=1")
    assert place_one(cluster(*nodes, levels=(BLOCK, RACK)), pods(3, asks(RACK))) == "a/r1:3"


def test_a_host_takes_no_more_pods_than_it_may_run() -> None:
    assert place_one(cluster("x1=0"), pods(100, asks(HOST), gpus=0)) == "x1:100"
    assert "only 100 out of 101" in place_one(cluster("x1=0"), pods(101, asks(HOST), gpus=0))


REFUSALS = {
    "no level": (TopologyRequest(), "topology level not specified"),
    "an unknown level": (asks("zone"), "no requested topology level: zone"),
    "slices at an unknown level": (
        asks(BLOCK, None, ("zone", 1)),
        "no requested topology level for slices: zone",
    ),
    "slices without a size": (
        asks(BLOCK, None, (HOST, 0)),
        "slice topology requested, but slice size not provided",
    ),
    "slices above the pods' own level": (
        asks(HOST, None, (RACK, 2)),
        f"podset slice topology {RACK} is above the podset topology {HOST}",
    ),
    "inner slices at an unknown level": (
        asks(BLOCK, None, (RACK, 2), ("zone", 1)),
        "no requested topology level for additional slice layer: zone",
    ),
    "inner slices that are not further in": (
        asks(BLOCK, None, (RACK, 2), (RACK, 1)),
        f"additional slice layer topology {RACK} must be at a lower level than {RACK}",
    ),
    "inner slices that do not fill the outer ones": (
        asks(BLOCK, None, (RACK, 4), (HOST, 3)),
        "additional slice layer size 3 must evenly divide parent layer size 4",
    ),
    "inner slices without a size": (
        asks(BLOCK, None, (RACK, 4), (HOST, 0)),
        "additional slice layer size 0 must evenly divide parent layer size 4",
    ),
    "a part of a slice": (asks(BLOCK, None, (HOST, 3)), "4 pods do not make whole slices of 3"),
}


@pytest.mark.parametrize(("request_", "expected"), REFUSALS.values(), ids=REFUSALS.keys())
def test_topology_refuses_requests_that_it_has_no_levels_for(
    request_: TopologyRequest, expected: str
) -> None:
    assert place_one(cluster(*TWO_BLOCKS), pods(4, request_)) == expected


TOO_LITTLE = {
    "required": (asks(HOST), 5, "allows to fit only 4 out of 5 pod(s)"),
    "preferred": (asks(None, HOST), 10, "allows to fit only 9 out of 10 pod(s)"),
    "anywhere": (ANYWHERE, 10, "allows to fit only 9 out of 10 pod(s)"),
    "slices": (asks(BLOCK, None, (RACK, 4)), 8, "allows to fit only 1 out of 2 slice(s)"),
    "slices in slices": (
        asks(BLOCK, None, (RACK, 4), (HOST, 2)),
        8,
        f"doesn't allow to fit; 1/2 slice(s) fit on level {RACK}; 2/4 slice(s) fit on level {HOST}",
    ),
}


@pytest.mark.parametrize(("request_", "count", "expected"), TOO_LITTLE.values(), ids=TOO_LITTLE.keys())
def test_too_little_room(request_: TopologyRequest, count: int, expected: str) -> None:
    assert place_one(cluster(*TWO_BLOCKS), pods(count, request_)) == f'topology "t" {expected}'


def test_no_domains_at_all() -> None:
    assert place_one(cluster("x1=1", levels=(RACK, HOST)), pods(1, asks(RACK))) == (
        f"no topology domains at level: {RACK}"
    )
