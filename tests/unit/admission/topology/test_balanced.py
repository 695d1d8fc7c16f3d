"""Balanced placement: few domains, the pods spread evenly over them."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.admission.model import TopologyRequest
from tests.unit.admission.strategies import examples
from tests.unit.admission.topology.scenes import (
    ANYWHERE,
    BLOCK,
    HOST,
    RACK,
    asks,
    cluster,
    place,
    place_one,
    pods,
)

CASES = {
    "evenly over the fewest hosts": (("x1=4", "x2=4", "x3=4"), asks(None, HOST), 6, "x1:3 x2:3"),
    "the remainder goes to the roomiest": (("x1=3", "x2=4"), asks(None, HOST), 5, "x1:2 x2:3"),
    "hosts that hold too little for an even share are left out": (
        ("r1/x1=4", "r1/x2=1", "r1/x3=4"),
        asks(None, HOST),
        6,
        "x1:3 x3:3",
    ),
    "in the rack where the shares are largest": (
        ("r1/x1=2", "r1/x2=2", "r1/x3=2", "r2/x4=3", "r2/x5=3"),
        asks(None, HOST),
        6,
        "x4:3 x5:3",
    ),
    "not in one where they are smaller": (
        ("r1/x1=3", "r1/x2=3", "r2/x3=2", "r2/x4=2", "r2/x5=2"),
        asks(None, HOST),
        6,
        "x1:3 x2:3",
    ),
    "equal shares: in the block that takes fewer racks": (
        ("a/r1/x1=2", "a/r2/x2=2", "b/r1/x3=2", "b/r1/x4=2"),
        asks(None, RACK),
        4,
        "x3:2 x4:2",
    ),
    "equal racks: the rack with more even hosts": (
        ("r1/x1=1", "r1/x2=3", "r2/x3=2", "r2/x4=2"),
        asks(None, RACK),
        1,
        "x3:1",
    ),
    "slices are spread, not pods": (
        ("a/r1/x1=4", "a/r2/x2=4", "a/r3/x3=4"),
        asks(None, RACK, (RACK, 2)),
        8,
        "x1:4 x2:4",
    ),
    "the set with least room beyond": (("x1=5", "x2=3", "x3=4"), asks(None, HOST), 6, "x2:3 x3:3"),
    "required: the best fit": (("r1/x1=4", "r1/x2=4"), asks(RACK), 6, "x1:4 x2:2"),
    "anywhere: the fullest": (("x1=4", "x2=4"), ANYWHERE, 6, "x1:4 x2:2"),
    "no siblings hold all: the best fit over more": (
        ("r1/x1=1", "r2/x2=2"),
        asks(None, HOST),
        3,
        "x1:1 x2:2",
    ),
}


@pytest.mark.parametrize(("nodes", "request_", "count", "expected"), CASES.values(), ids=CASES.keys())
def test_pods_are_spread_evenly(
    nodes: tuple[str, ...], request_: TopologyRequest, count: int, expected: str
) -> None:
    assert place_one(cluster(*nodes, topology_balanced=True), pods(count, request_)) == expected


WITH_LEADER = {
    "on a single host": (("x1=3", "x2=1"), HOST, 2, 1, "x1:1", "x1:2"),
    "in addition to an even share": (("x1=3", "x2=3"), HOST, 4, 1, "x1:1", "x1:2 x2:2"),
    "where it leaves an even share": (("x1=3", "x2=4"), HOST, 4, 2, "x2:1", "x1:2 x2:2"),
    "the shares are smaller for its sake": (("x1=3", "x2=3"), HOST, 4, 2, "x1:1", "x1:1 x2:3"),
    "it fits nowhere evenly: the best fit": (("r1/x1=2", "r2/x2=2"), HOST, 2, 2, "x1:1", "x2:2"),
    "in one of several racks": (("a/r1/x1=3", "a/r2/x2=2"), RACK, 4, 1, "x1:1", "x1:2 x2:2"),
}


@pytest.mark.parametrize(
    ("nodes", "level", "workers", "gpus", "leader_at", "workers_at"),
    WITH_LEADER.values(),
    ids=WITH_LEADER.keys(),
)
def test_leader_takes_part_in_balanced_placement(
    nodes: tuple[str, ...], level: str, workers: int, gpus: int, leader_at: str, workers_at: str
) -> None:
    grouped = replace(asks(None, level), group="g")
    placement = place(
        cluster(*nodes, topology_balanced=True),
        pods(1, grouped, gpus, "leader"),
        pods(workers, grouped, 1, "workers"),
    )
    assert placement == {"leader": leader_at, "workers": workers_at}


def test_slices_two_levels_below() -> None:
    nodes = ("a/r1/x1=4", "a/r1/x2=2", "a/r2/x3=2", "b/r1/x4=4", "b/r2/x5=3")
    balanced = cluster(*nodes, topology_balanced=True)
    assert place_one(balanced, pods(6, asks(None, BLOCK, (HOST, 2)))) == "x1:4 x2:2"


NO_BALANCE = {
    "remaining slices would suffice for another one": (
        ("r1/x1=2", "r2/x2=5", "r2/x3=3"),
        asks(None, RACK, (HOST, 2)),
        8,
        1,
        "x1:2 x2:4 x3:2",
    ),
    "it would do for one of fewer hosts": (
        ("r1/x1=7", "r2/x2=6", "r2/x3=4"),
        asks(None, RACK, (HOST, 2)),
        6,
        2,
        "x1:2 x2:2 x3:2",
    ),
    "the racks hold pods, their hosts no whole slices": (
        ("r1/x1=6", "r1/x2=6", "r2/x3=5", "r3/x4=7"),
        asks(None, RACK, (HOST, 4)),
        12,
        1,
        "x1:4 x2:4 x3:4",
    ),
    "not all slices find a place": (
        ("r1/x1=5", "r1/x2=3", "r2/x3=2", "r2/x4=4"),
        asks(None, RACK, (HOST, 2)),
        10,
        1,
        "x1:4 x3:2 x4:4",
    ),
    "more hosts than even shares": (
        ("r1/x1=6", "r2/x2=4", "r2/x3=4", "r2/x4=4"),
        asks(None, RACK),
        5,
        2,
        "x2:2 x3:2 x4:1",
    ),
    "the inner slices do not come out even": (
        ("a/r1/x1=5", "a/r2/x2=3", "a/r2/x3=7"),
        asks(None, BLOCK, (RACK, 2), (HOST, 2)),
        10,
        1,
        "x1:2 x2:2 x3:6",
    ),
}


@pytest.mark.parametrize(
    ("nodes", "request_", "count", "gpus", "expected"), NO_BALANCE.values(), ids=NO_BALANCE.keys()
)
def test_best_fit_where_balance_is_impossible(
    nodes: tuple[str, ...], request_: TopologyRequest, count: int, gpus: int, expected: str
) -> None:
    request = pods(count, request_, gpus)
    assert place_one(cluster(*nodes, topology_balanced=True), request) == expected
    assert place_one(cluster(*nodes), request) == expected


def test_a_leader_that_fits_nowhere() -> None:
    grouped = asks(None, HOST, group="g")
    both = pods(1, grouped, 5, "leader"), pods(2, grouped, 1, "workers")
    placement = place(cluster("x1=3", "x2=3", topology_balanced=True), *both)
    assert placement == dict.fromkeys(
        ("workers", "leader"), 'topology "t" doesn\'t allow to fit any of 2 pod(s)'
    )


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.integers(0, 6), min_size=2, max_size=7), st.integers(1, 14))
def test_few_hosts_that_fit_tightly_and_evenly(capacities: list[int], count: int) -> None:
    """Uses as many hosts as a greedy placement; of all sets of this size that could share evenly, a set with
    the least spare capacity."""
    if sum(capacities) < count:
        return
    hosts = {f"x{n}": gpus for n, gpus in enumerate(capacities)}
    nodes = [f"{name}={gpus}" for name, gpus in hosts.items()]
    placement = place_one(cluster(*nodes, topology_balanced=True), pods(count, asks(None, HOST)))
    shares = {name: int(pods) for name, _, pods in (part.partition(":") for part in placement.split())}
    roomiest = sorted(capacities, reverse=True)
    few = next(n for n in range(1, len(roomiest) + 1) if sum(roomiest[:n]) >= count)
    even = min(count // few, roomiest[few - 1])
    sets = combinations([gpus for gpus in capacities if gpus >= even], few)
    least = min(sum(of) for of in sets if sum(of) >= count)
    assert (len(shares), sum(shares.values())) == (few, count)
    assert min(shares.values()) >= even
    assert sum(hosts[name] for name in shares) == least
