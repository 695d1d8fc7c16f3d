"""Usage that is counted against nodes, and for how long."""

from dataclasses import replace

import pytest

from muster.admission.model import Flavor
from muster.admission.topology import Topologies, TopologyUsage
from tests.unit.admission.topology.scenes import (
    ANYWHERE,
    FLAVOR,
    HOST,
    RACK,
    answer,
    asks,
    cluster,
    gang,
    node,
    place,
    place_one,
    pods,
)

ONE_POD = pods(1, ANYWHERE)


def test_placed_pods_take_room_until_they_are_removed() -> None:
    topologies = cluster("x1=1", "x2=2")
    topologies.add([gang("x1:1 x2:1")])
    assert place_one(topologies, ONE_POD) == "x2:1"
    topologies.remove([gang("x1:1")])
    assert place_one(topologies, ONE_POD) == "x1:1"


def test_pods_without_a_placement_take_room() -> None:
    busy = node("x1=2", used={"gpu": 1, "pods": 99})
    assert place_one(cluster(busy), ONE_POD) == "x1:1"
    assert 'resource "pods": 1' in place_one(cluster(replace(busy, used={"pods": 100})), ONE_POD)


def test_more_than_there_is_leaves_no_room_and_no_debt() -> None:
    topologies = cluster("x1=2")
    topologies.add([gang("x1:3")])
    assert "doesn't allow to fit any" in place_one(topologies, ONE_POD)
    assert place_one(topologies, ONE_POD, empty=True) == "x1:1"


def test_pods_on_nodes_that_are_gone_are_not_counted() -> None:
    topologies = cluster("r1/x1=1")
    topologies.add([gang("x2:1"), gang("r1:1", levels=(RACK,)), gang("r9:1", levels=(RACK,), flavor="gone")])
    assert place_one(topologies, ONE_POD) == "x1:1"


def test_above_the_hosts_usage_is_the_flavors_own() -> None:
    levels = (RACK,)
    topologies = cluster("r1/x1=1", "r2/x2=1", levels=levels)
    topologies.add([gang("r1:1", levels=levels), gang("r2:1", levels=levels, flavor="other")])
    assert place_one(topologies, ONE_POD) == "r2:1"


def shared() -> Topologies:
    flavors = {name: Flavor(name, topology="t") for name in (FLAVOR, "b")}
    return cluster("x1=1", "x2=1", flavors=flavors)


def test_flavors_share_their_hosts() -> None:
    topologies = shared()
    topologies.add([gang("x1:1", flavor="b")])
    assert place_one(topologies, ONE_POD) == "x2:1"


def test_pod_sets_of_a_workload_are_counted_against_each_other_over_flavors() -> None:
    first, second = pods(1, ANYWHERE, name="first"), pods(1, ANYWHERE, name="second")
    assert answer(shared().place({"b": [first], FLAVOR: [second]})) == {"second": "x1:1", "first": "x2:1"}


@pytest.mark.parametrize("empty", [False, True])
def test_placement_does_not_stay_counted(empty: bool) -> None:
    topologies = cluster("x1=1", "x2=1")
    two = [pods(1, ANYWHERE, name=name) for name in ("a", "b")]
    for _ in range(2):
        assert place(topologies, *two, empty=empty) == {"a": "x1:1", "b": "x2:1"}


def test_a_refusal_stops_the_workload_and_leaves_nothing_behind() -> None:
    topologies = cluster("x1=1")
    sets = [pods(1, ANYWHERE, name="a"), pods(1, ANYWHERE, name="b"), pods(1, ANYWHERE, name="c")]
    assert list(place(topologies, *sets)) == ["b"]
    assert place_one(topologies, ONE_POD) == "x1:1"


def test_no_host_has_room_left_for_a_leader() -> None:
    topologies = cluster("x1=1")
    topologies.add([gang("x1:1")])
    both = [
        pods(count, asks(unconstrained=True, group="g"), name=name) for name, count in (("l", 1), ("w", 2))
    ]
    assert "doesn't allow to fit any of 2" in place(topologies, *both)["w"]


def test_empty_is_as_if_no_pods_were_placed_but_for_the_workloads_own() -> None:
    topologies = cluster("x1=2")
    topologies.add([gang("x1:2")])
    two = [pods(1, ANYWHERE, name=name) for name in ("a", "b")]
    assert place(topologies, *two, empty=True) == {"a": "x1:1", "b": "x1:1"}
    assert list(place(topologies, *two, pods(1, ANYWHERE, name="c"), empty=True)) == ["c"]


FITS: dict[str, tuple[list[TopologyUsage], bool]] = {
    "nothing": ([], True),
    "the remainder": ([gang("x1:1 x2:2")], True),
    "more than is left": ([gang("x1:2")], False),
    "together more than is left": ([gang("x2:1"), gang("x2:2")], False),
    "on a node that was deleted": ([gang("x3:1")], False),
    "of a flavor that was deleted": ([gang("x2:1", flavor="gone")], False),
    "more than the node may run": ([gang("x2:101", gpus=0)], False),
}


@pytest.mark.parametrize(("gangs", "expected"), FITS.values(), ids=FITS.keys())
def test_placed_pods_still_fit(gangs: list[TopologyUsage], expected: bool) -> None:
    topologies = cluster("x1=2", "x2=2")
    topologies.add([gang("x1:1")])
    for _ in range(2):
        assert topologies.fits(gangs) is expected


def test_comings_and_goings_are_remembered_only_so_long() -> None:
    topologies = cluster("x1=1", "x2=1")
    assert place_one(topologies, ONE_POD) == "x1:1"
    for _ in range(11_000):
        topologies.add([gang("x1:1")])
        topologies.remove([gang("x1:1")])
    topologies.add([gang("x1:1")])
    assert place_one(topologies, ONE_POD) == "x2:1"


def test_capacities_are_kept_for_a_bounded_number_of_kinds_of_pods() -> None:
    topologies = cluster("x1=1000")
    for gpus in range(1, 300):
        assert place_one(topologies, pods(1, asks(HOST), gpus=gpus)) == "x1:1"
    topologies.add([gang("x1:1", gpus=999)])
    assert place_one(topologies, pods(1, asks(HOST), gpus=1)) == "x1:1"
    assert "doesn't" in place_one(topologies, pods(1, asks(HOST), gpus=2))
