"""A workload slice takes over the pods of the slice that it replaces."""

import pytest

from muster.admission.model import TopologyAssignment
from tests.unit.admission.topology.scenes import ANYWHERE, asks, cluster, gang, place, place_one, placed, pods

GROUPED = asks(unconstrained=True, group="g")
NODES = ("x1=2", "x2=3", "x3=1")

CASES = {
    "more pods: only additional ones are placed": (4, "x1:2", "x1:2 x2:2"),
    "more pods on the same node": (3, "x2:2", "x2:3"),
    "as many": (3, "x2:3", "x2:3"),
    "fewer: the last ones go": (3, "x1:2 x2:2", "x1:2 x2:1"),
    "fewer by whole nodes": (2, "x1:2 x2:2", "x1:2"),
    "nothing to take over": (1, None, "x3:1"),
    "a node is deleted: all are placed again": (1, "x9:1", "x3:1"),
}


@pytest.mark.parametrize(("count", "previous", "expected"), CASES.values(), ids=CASES.keys())
def test_pods_of_a_failed_node_are_replaced(count: int, previous: str | None, expected: str) -> None:
    before = placed(previous) if previous else None
    topologies = cluster(*NODES, topology_elastic=True)
    assert place_one(topologies, pods(count, ANYWHERE, previous=before)) == expected


def test_pods_that_are_taken_over_take_their_room() -> None:
    topologies = cluster(*NODES, topology_elastic=True)
    resized = pods(2, ANYWHERE, previous=placed("x3:1"))
    assert place(topologies, resized, pods(3, asks(preferred="kubernetes.io/hostname"), name="other")) == {
        "main": "x1:1 x3:1",
        "other": "x2:3",
    }


def test_pods_that_are_left_of_more_take_their_room() -> None:
    topologies = cluster("x1=1", "x2=3", topology_elastic=True)
    fewer = pods(1, ANYWHERE, previous=placed("x2:3"))
    assert place(topologies, fewer, pods(3, ANYWHERE, name="other")) == {"main": "x2:1", "other": "x1:1 x2:2"}


def test_a_leader_that_stays_takes_its_room() -> None:
    """Workers that come on top find no room on its node."""
    placement = place(
        cluster("x1=1", "x2=3", topology_elastic=True),
        pods(1, GROUPED, name="leader", previous=placed("x1:1")),
        pods(2, GROUPED, name="workers", previous=placed("x2:1")),
    )
    assert placement == {"leader": "x1:1", "workers": "x2:2"}


def test_no_room_for_more() -> None:
    topologies = cluster("x1=2", topology_elastic=True)
    topologies.add([gang("x1:1")])
    assert "doesn't allow to fit any of 1" in place_one(
        topologies, pods(2, ANYWHERE, previous=placed("x1:1"))
    )


def test_all_pods_are_placed_again_without_the_rule() -> None:
    assert place_one(cluster(*NODES), pods(2, ANYWHERE, previous=placed("x2:2"))) == "x1:2"


WITH_LEADER = {
    "more workers, the leader stays": (3, "x1:1", "x2:1", "x2:1", "x1:1 x2:2"),
    "more workers, a new leader": (2, "x1:1", None, "x2:1", "x1:1 x2:1"),
    "as many workers": (2, "x2:2", "x1:1", "x1:1", "x2:2"),
    "as many workers, no leader yet: all are placed again": (2, "x2:2", None, "x2:1", "x2:2"),
    "the leader's node is deleted: all are placed again": (2, "x2:2", "x9:1", "x2:1", "x2:2"),
}


@pytest.mark.parametrize(
    ("count", "workers", "leader", "leader_at", "workers_at"), WITH_LEADER.values(), ids=WITH_LEADER.keys()
)
def test_leader_stays_where_it_runs(
    count: int, workers: str, leader: str | None, leader_at: str, workers_at: str
) -> None:
    led: TopologyAssignment | None = placed(leader) if leader else None
    placement = place(
        cluster(*NODES, topology_elastic=True),
        pods(1, GROUPED, name="leader", previous=led),
        pods(count, GROUPED, name="workers", previous=placed(workers)),
    )
    assert placement == {"leader": leader_at, "workers": workers_at}
