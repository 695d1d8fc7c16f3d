"""Nodes of a worker group that grows on a queued pool: what is ready, requested, retried and released."""

from dataclasses import replace
from typing import Any

import pytest

from muster.admission.lifecycle import Backoff
from muster.cluster.growth_nodes import USE_MS, GroupNodes, GrowthRequest, GrowthState, group_nodes

MINIMUM = 2
BACKOFF = Backoff(base_s=60, max_s=1800)
LONG_MS = 3_600_000


def request(state: GrowthState, number: int = 1, **fields: Any) -> GrowthRequest:
    blank = GrowthRequest(name=f"r{number}", number=number, attempt=1, count=4, state=state)
    return replace(blank, **fields)


def pending(**fields: Any) -> GrowthRequest:
    return request(GrowthState.PENDING, **fields)


def overdue() -> GrowthRequest:
    return request(GrowthState.OVERDUE)


def provisioned(**fields: Any) -> GrowthRequest:
    return request(GrowthState.PROVISIONED, **fields)


def failed(**fields: Any) -> GrowthRequest:
    return request(GrowthState.FAILED, **fields)


def expired(**fields: Any) -> GrowthRequest:
    return request(GrowthState.EXPIRED, **fields)


def described(nodes: GroupNodes) -> str:
    parts = [f"{nodes.ready} ready"]
    parts += [f"{nodes.free_of_gang} on the gang's"] if nodes.free_of_gang else []
    parts += [f"{count} on {name}" for name, count in nodes.free]
    parts += [f"{nodes.pending.name} pending"] if nodes.pending else []
    parts += [f"request {nodes.missing} as number {nodes.number}"] if nodes.missing else []
    parts += [f"attempt {nodes.attempt}"] if nodes.missing and nodes.attempt > 1 else []
    parts += [f"{nodes.failed.name} failed"] if nodes.failed else []
    parts += [f"delete {name}" for name in sorted(nodes.unneeded)]
    return ", ".join(parts)


@pytest.mark.parametrize(
    ("granted", "running", "requests", "expected"),
    [
        pytest.param(2, 0, [], "2 ready, 2 on the gang's", id="starts"),
        pytest.param(2, 2, [], "2 ready", id="runs"),
        pytest.param(2, 1, [], "2 ready, 1 on the gang's", id="a pod of the minimum is gone"),
        pytest.param(6, 2, [], "2 ready, request 4 as number 1", id="growth is granted"),
        pytest.param(6, 0, [], "2 ready, 2 on the gang's, request 4 as number 1", id="before the start"),
        pytest.param(6, 2, [pending()], "2 ready, r1 pending", id="requested"),
        pytest.param(7, 2, [pending()], "2 ready, r1 pending", id="more is requested after this request"),
        pytest.param(5, 2, [pending()], "2 ready, request 3 as number 2, delete r1", id="some was preempted"),
        pytest.param(2, 2, [pending()], "2 ready, delete r1", id="all of it was preempted"),
        pytest.param(6, 2, [overdue()], "2 ready, request 4 as number 2, delete r1", id="overdue"),
        pytest.param(6, 2, [provisioned()], "6 ready, 4 on r1", id="provisioned"),
        pytest.param(6, 4, [provisioned(used=2)], "6 ready, 2 on r1", id="two of four run"),
        pytest.param(6, 6, [provisioned(used=4, elapsed_ms=LONG_MS)], "6 ready", id="all run"),
        pytest.param(3, 2, [provisioned()], "6 ready, 4 on r1", id="preempted after it was provisioned"),
        pytest.param(6, 2, [provisioned(elapsed_ms=USE_MS - 1)], "6 ready, 4 on r1", id="just in time"),
        pytest.param(
            2,
            2,
            [provisioned(elapsed_ms=USE_MS)],
            "2 ready, delete r1",
            id="nothing uses its nodes",
        ),
        pytest.param(
            5,
            4,
            [provisioned(used=2, elapsed_ms=LONG_MS)],
            "4 ready, request 1 as number 2",
            id="idle nodes may be gone: another worker needs its own",
        ),
        pytest.param(
            4,
            4,
            [provisioned(used=4, elapsed_ms=LONG_MS)],
            "4 ready",
            id="the workers of the minimum were removed: no nodes are left for them",
        ),
        pytest.param(
            8,
            6,
            [provisioned(used=4, elapsed_ms=LONG_MS), pending(number=2, count=2)],
            "6 ready, r2 pending",
            id="grows again",
        ),
        pytest.param(2, 2, [failed()], "2 ready, r1 failed", id="stock-out"),
        pytest.param(6, 2, [failed(elapsed_ms=59_999)], "2 ready, r1 failed", id="in its back-off"),
        pytest.param(
            6,
            2,
            [failed(elapsed_ms=60_000)],
            "2 ready, request 4 as number 2, attempt 2",
            id="after its back-off",
        ),
        pytest.param(
            6,
            2,
            [failed(attempt=2, elapsed_ms=60_000)],
            "2 ready, r1 failed",
            id="a longer back-off",
        ),
        pytest.param(
            6,
            2,
            [failed(elapsed_ms=LONG_MS), pending(number=2, attempt=2)],
            "2 ready, r2 pending, delete r1",
            id="the next attempt is under way",
        ),
        pytest.param(
            8,
            6,
            [failed(elapsed_ms=LONG_MS), provisioned(number=2, attempt=2, used=4, elapsed_ms=LONG_MS)],
            "6 ready, request 2 as number 3, delete r1",
            id="a success ends the attempts",
        ),
        pytest.param(6, 6, [failed(used=4)], "6 ready, r1 failed", id="revoked, and its pods still run"),
        pytest.param(6, 6, [expired(used=4)], "6 ready", id="expired after its pods ran"),
        pytest.param(6, 2, [expired()], "2 ready, r1 failed", id="expired before any pod ran"),
        pytest.param(
            6,
            2,
            [expired(elapsed_ms=LONG_MS)],
            "2 ready, request 4 as number 2, attempt 2, delete r1",
            id="after the back-off of an expired booking",
        ),
        pytest.param(2, 6, [], "6 ready", id="terminating pods still have their nodes"),
    ],
)
def test_nodes_of_a_group(granted: int, running: int, requests: list[GrowthRequest], expected: str) -> None:
    assert described(group_nodes(MINIMUM, granted, running, requests, BACKOFF)) == expected


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        pytest.param([], None, id="nothing is requested"),
        pytest.param([pending()], None, id="may wait for days"),
        pytest.param([pending(overdue_in_ms=500)], 500, id="until it is overdue"),
        pytest.param([provisioned(elapsed_ms=10_000)], USE_MS - 10_000, id="until its nodes are released"),
        pytest.param([provisioned(used=4, elapsed_ms=10_000)], None, id="all nodes are used"),
        pytest.param([failed(elapsed_ms=20_000)], 40_000, id="until the end of its back-off"),
        pytest.param([failed(elapsed_ms=LONG_MS)], None, id="after its back-off"),
    ],
)
def test_nodes_change_with_time(requests: list[GrowthRequest], expected: int | None) -> None:
    assert group_nodes(MINIMUM, 6, 2, requests, BACKOFF).until_in_ms == expected


@pytest.mark.parametrize(
    ("requests", "running", "job", "hosts", "expected"),
    [
        pytest.param([], 2, 6, 1, 6, id="what its job asks for"),
        pytest.param([pending()], 2, 2, 1, 6, id="the pods of a pending request, under the limit"),
        pytest.param([pending()], 2, 9, 1, 6, id="and no more"),
        pytest.param([pending(number=2, count=2), provisioned(used=4)], 6, 5, 1, 5, id="its job shrinks"),
        pytest.param([provisioned()], 2, 2, 1, 6, id="pods that are not created yet"),
        pytest.param([provisioned()], 2, 6, 1, 6, id="pods that are being created"),
        pytest.param([provisioned()], 2, 9, 1, 9, id="and more"),
        pytest.param([provisioned(used=4)], 6, 3, 1, 3, id="shrinks"),
        pytest.param(
            [provisioned(used=4), provisioned(number=2, count=2)], 6, 4, 1, 6, id="shrinks and grows"
        ),
        pytest.param([failed()], 2, 6, 1, 2, id="none beyond those with nodes in a back-off"),
        pytest.param([failed(used=3)], 5, 3, 1, 3, id="shrinks in a back-off"),
        pytest.param([failed(used=3)], 5, 8, 2, 6, id="whole replicas"),
        pytest.param([pending()], 3, 4, 2, 8, id="whole replicas while a request is pending"),
    ],
)
def test_a_group_asks_for(
    requests: list[GrowthRequest], running: int, job: int, hosts: int, expected: int
) -> None:
    assert group_nodes(MINIMUM, 99, running, requests, BACKOFF).asked(job, hosts) == expected


@pytest.mark.parametrize(
    ("requests", "hosts", "expected"),
    [
        pytest.param([], 1, None, id="by its quota"),
        pytest.param([pending()], 1, 3, id="while a request is pending"),
        pytest.param([pending()], 2, 2, id="in whole replicas"),
        pytest.param([failed()], 1, 3, id="in a back-off"),
        pytest.param([provisioned(used=1)], 1, None, id="provisioned"),
    ],
)
def test_limit_of_the_autoscaler(requests: list[GrowthRequest], hosts: int, expected: int | None) -> None:
    nodes = group_nodes(MINIMUM, 99, 3, requests, BACKOFF)
    assert (nodes.limit(hosts) if nodes.is_limited else None) == expected
