"""Capacities are only recounted for nodes whose pods changed."""

from unittest.mock import patch

import pytest

from muster.admission.topology import flavor
from tests.unit.admission.topology.scenes import ANYWHERE, RACK, asks, cluster, gang, place_one, pods

NODES = ("r1/x1=3", "r1/x2=3", "r2/x3=4")
CHANGES: dict[str, tuple[tuple[str, ...], tuple[str, ...], int, str]] = {
    # gangs that come and gangs that go again; pods of the request, and their places
    "no pods came": ((), (), 6, "x1:3 x2:3"),
    "one pod came": (("x1:1",), (), 5, "x1:2 x2:3"),
    "and went": (("x1:1",), ("x1:1",), 6, "x1:3 x2:3"),
    "pods on both hosts": (("x1:1", "x2:2"), (), 3, "x1:2 x2:1"),
    "pods in the other rack": (("x3:1",), (), 3, "x3:3"),
}


@pytest.mark.parametrize(("come", "go", "count", "expected"), CHANGES.values(), ids=CHANGES)
def test_a_rack_has_room_for_what_its_hosts_have(
    come: tuple[str, ...], go: tuple[str, ...], count: int, expected: str
) -> None:
    topologies = cluster(*NODES)
    request = pods(count, asks(RACK))
    assert place_one(topologies, pods(6, asks(RACK))) == "x1:3 x2:3"
    topologies.add([gang(arrival) for arrival in come])
    place_one(topologies, request)
    topologies.remove([gang(arrival) for arrival in go])
    assert place_one(topologies, request) == expected
    fresh = cluster(*NODES)
    fresh.add([gang(arrival) for arrival in come if arrival not in go])
    assert place_one(fresh, request) == expected


def test_one_pod_too_many() -> None:
    topologies = cluster(*NODES)
    assert place_one(topologies, pods(6, asks(RACK))) == "x1:3 x2:3"
    topologies.add([gang("x1:1")])
    assert "allows to fit only 5 out of 6" in place_one(topologies, pods(6, asks(RACK)))


def test_what_is_remembered_of_shapes_of_pods_is_bounded() -> None:
    """Tenants choose what their pods ask for."""
    topologies = cluster("x1=8")
    with patch.object(flavor, "_CACHED_MAX", 3):
        for gpus in range(1, 9):
            place_one(topologies, pods(1, ANYWHERE, gpus))
    (of,) = topologies._flavors.values()
    assert len(of._capacities) == 3
    assert place_one(topologies, pods(8, ANYWHERE, 1)) == "x1:8"
