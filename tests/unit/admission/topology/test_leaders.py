"""A leader and its workers are placed together."""

from dataclasses import replace

import pytest

from muster.admission.model import TopologyRequest
from tests.unit.admission.topology.scenes import ANYWHERE, BLOCK, HOST, RACK, asks, cluster, place, pods

CASES = {
    "next to each other": (("r1/x1=2", "r2/x2=3"), asks(RACK), 2, 1, "x2:1", "x2:2"),
    "in one rack, not on one host": (("r1/x1=2", "r1/x2=2"), asks(RACK), 2, 2, "x1:1", "x2:2"),
    "the tightest rack for both": (("r1/x1=9", "r2/x2=3", "r3/x3=2"), asks(RACK), 2, 1, "x2:1", "x2:2"),
    "over several racks": (("r1/x1=3", "r2/x2=2"), asks(None, RACK), 4, 1, "x1:1", "x1:2 x2:2"),
    "anywhere": (("x1=1", "x2=2", "x3=4"), ANYWHERE, 3, 1, "x3:1", "x3:3"),
    "anywhere, over several hosts": (("x1=1", "x2=2", "x3=2"), ANYWHERE, 4, 1, "x1:1", "x2:2 x3:2"),
    "in a slice of the workers": (
        ("a/r1/x1=3", "a/r2/x2=2"),
        asks(BLOCK, None, (RACK, 2)),
        4,
        1,
        "x1:1",
        "x1:2 x2:2",
    ),
    "a slice needs the whole host, the leader another": (
        ("r1/x1=2", "r1/x2=2", "r1/x3=1"),
        asks(RACK, None, (HOST, 2)),
        4,
        1,
        "x3:1",
        "x1:2 x2:2",
    ),
}


@pytest.mark.parametrize(
    ("nodes", "request_", "workers", "gpus", "leader_at", "workers_at"), CASES.values(), ids=CASES.keys()
)
def test_leader_and_workers_go_to_these_domains(
    nodes: tuple[str, ...],
    request_: TopologyRequest,
    workers: int,
    gpus: int,
    leader_at: str,
    workers_at: str,
) -> None:
    """`gpus` is what the leader takes; in either order of the two pod sets."""
    grouped = replace(request_, group="g")
    both = [pods(1, grouped, gpus, "leader"), pods(workers, grouped, 1, "workers")]
    for requests in (both, both[::-1]):
        assert place(cluster(*nodes), *requests) == {"leader": leader_at, "workers": workers_at}


def test_the_leader_goes_where_it_costs_the_workers_least() -> None:
    grouped = asks(RACK, group="g")
    both = pods(1, grouped, 1, "leader"), pods(4, grouped, 2, "workers")
    assert place(cluster("r1/x1=4", "r1/x2=5"), *both) == {"leader": "x2:1", "workers": "x1:2 x2:2"}


REFUSALS = {
    "no domain holds the leader": (asks(RACK, group="g"), 2, 5, "allows to fit only 3 out of 2 pod(s)"),
    "no host at all holds the leader": (
        asks(None, RACK, group="g"),
        2,
        5,
        "doesn't allow to fit any of 2 pod(s)",
    ),
    "there is room for the workers alone": (
        asks(None, RACK, group="g"),
        5,
        1,
        "allows to fit only 4 out of 5 pod(s)",
    ),
    "anywhere is no host for the leader": (
        replace(ANYWHERE, group="g"),
        9,
        5,
        "doesn't allow to fit any of 9 pod(s)",
    ),
}


@pytest.mark.parametrize(("request_", "count", "gpus", "expected"), REFUSALS.values(), ids=REFUSALS.keys())
def test_both_are_refused(request_: TopologyRequest, count: int, gpus: int, expected: str) -> None:
    placement = place(
        cluster("r1/x1=3", "r2/x2=2"), pods(1, request_, gpus, "leader"), pods(count, request_, 1, "workers")
    )
    assert placement == dict.fromkeys(("leader", "workers"), f'topology "t" {expected}')


@pytest.mark.parametrize(
    "counts", [(1, 2, 3), (1, 1, 3), (2, 3)], ids=["three pod sets", "two leaders", "no single leader"]
)
def test_group_without_one_leader_is_refused(counts: tuple[int, ...]) -> None:
    requests = [pods(count, asks(RACK, group="g"), name=f"s{count}") for count in counts]
    assert place(cluster("r1/x1=9"), *requests) == {"s3": "the group g is not one leader and its workers"}
