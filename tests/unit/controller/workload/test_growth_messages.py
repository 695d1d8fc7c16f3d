"""Messages about elastic gangs: what is granted, and why no more is."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from muster.admission import Waiting, WaitReason
from muster.cluster.growth_nodes import GroupNodes, GrowthRequest, GrowthState
from muster.cluster.jobs.scaling import GroupSizes
from muster.controller.workload.growth_messages import GrowthLimit, grown, growth_limit, unsupported

GPU = GroupSizes(min_replicas=2, max_replicas=12, replicas=4)
PAIRS = GroupSizes(min_replicas=1, max_replicas=6, replicas=2, num_of_hosts=2)
OPEN = GroupSizes(min_replicas=0)
SIZES = {"gpu": GPU, "open": OPEN, "pairs": PAIRS}
LACKS = "needs 1 nvidia.com/gpu of flavor l4 but ClusterQueue team-a has 0 of 8 left"


def waits(*names: str, reason: WaitReason = WaitReason.QUOTA) -> dict[str, Waiting]:
    return {name: Waiting(f"team-a/dev+{name}+1", reason, LACKS) for name in names}


REQUEST = GrowthRequest("dev-growth-gpu-1", 1, 1, 4, GrowthState.PENDING, message="Expected at 15:00.")
ENDED = replace(REQUEST, state=GrowthState.FAILED, message="out of stock")
WAITS = GroupNodes(ready=4, pending=REQUEST)
RETRIED = GroupNodes(ready=4, failed=ENDED, retry_at_ms=1_800_000_000_000)


@pytest.mark.parametrize(
    ("nodes", "limited", "expected"),
    [
        pytest.param(GroupNodes(ready=8), {}, None, id="all have nodes"),
        pytest.param(
            WAITS,
            waits("gpu"),
            GrowthLimit(
                "WaitingForNodes",
                "4 of 8 workers granted in group gpu have nodes; the next 4 wait for ProvisioningRequest "
                "dev-growth-gpu-1: Expected at 15:00",
            ),
            id="wait for nodes, and for quota after that",
        ),
        pytest.param(
            replace(WAITS, pending=replace(REQUEST, count=1, message="")),
            {},
            GrowthLimit(
                "WaitingForNodes",
                "4 of 8 workers granted in group gpu have nodes; the next 1 waits for ProvisioningRequest "
                "dev-growth-gpu-1",
            ),
            id="one waits",
        ),
        pytest.param(
            RETRIED,
            {},
            GrowthLimit(
                "ProvisioningFailed",
                "8 of up to 12 workers granted in group gpu; it can't grow before 08:00:00 UTC because "
                "ProvisioningRequest dev-growth-gpu-1 got no nodes: out of stock",
            ),
            id="out of stock",
        ),
        pytest.param(
            RETRIED,
            waits("pairs"),
            GrowthLimit(
                "ProvisioningFailed",
                "8 of up to 12 workers granted in group gpu; it can't grow before 08:00:00 UTC because "
                "ProvisioningRequest dev-growth-gpu-1 got no nodes: out of stock. 4 of up to 12 workers "
                f"granted in group pairs; it can't grow because a replica of 2 workers {LACKS}",
            ),
            id="and another group lacks quota",
        ),
    ],
)
def test_limit_by_nodes(
    nodes: GroupNodes, limited: Mapping[str, Waiting], expected: GrowthLimit | None
) -> None:
    assert growth_limit(SIZES, {"gpu": 8, "pairs": 4}, {}, limited, {"gpu": nodes}) == expected


@pytest.mark.parametrize(
    ("granted", "asked", "limited", "expected"),
    [
        pytest.param({"gpu": 8}, {"gpu": 8}, {}, None, id="more fits"),
        pytest.param({"gpu": 12}, {"gpu": 12}, waits("gpu"), None, id="at the user's own limit"),
        pytest.param(
            {"gpu": 8},
            {"gpu": 10},
            waits("gpu"),
            GrowthLimit(
                "WaitingForQuota",
                f"8 of 10 workers granted in group gpu; the next 2 wait because a worker {LACKS}",
            ),
            id="asks for more",
        ),
        pytest.param(
            {"gpu": 8},
            {"gpu": 9},
            waits("gpu", reason=WaitReason.PREEMPTION),
            GrowthLimit(
                "WaitingForPreemptedWorkloads",
                f"8 of 9 workers granted in group gpu; the next 1 waits because a worker {LACKS}",
            ),
            id="asks for one more",
        ),
        pytest.param(
            {"gpu": 8},
            {"gpu": 8},
            waits("gpu"),
            GrowthLimit(
                "WaitingForQuota",
                f"8 of up to 12 workers granted in group gpu; it can't grow because a worker {LACKS}",
            ),
            id="may not ask for more",
        ),
        pytest.param(
            {"gpu": 8, "pairs": 4, "open": 1},
            {},
            waits("pairs", "open"),
            GrowthLimit(
                "WaitingForQuota",
                f"1 worker granted in group open; it can't grow because a worker {LACKS}. "
                "4 of up to 12 workers granted in group pairs; it can't grow because a replica of 2 workers "
                f"{LACKS}",
            ),
            id="two groups, without a limit and of two hosts",
        ),
    ],
)
def test_limit_of_growth(
    granted: Mapping[str, int],
    asked: Mapping[str, int],
    limited: Mapping[str, Waiting],
    expected: GrowthLimit | None,
) -> None:
    assert growth_limit(SIZES, granted, asked, limited, {}) == expected


def test_limit_has_the_estimated_growth_of_its_group() -> None:
    expected = {"gpu": "2 more expected about 14:20 UTC", "pairs": ""}
    limit = growth_limit(SIZES, {"gpu": 8, "pairs": 4}, {"gpu": 12}, waits("gpu", "pairs"), {}, expected)
    assert limit is not None
    gpu, pairs = limit.message.split(". ")
    asks = "8 of 12 workers granted in group gpu; the next 4 wait because a worker"
    assert gpu == f"{asks} {LACKS}; 2 more expected about 14:20 UTC"
    assert pairs.endswith(LACKS)


@pytest.mark.parametrize("nodes", [WAITS, RETRIED], ids=["requested", "refused"])
def test_limit_has_the_estimated_nodes_of_its_group(nodes: GroupNodes) -> None:
    expected = {"gpu": "4 more expected about 14:20 UTC"}
    limit = growth_limit(SIZES, {"gpu": 8}, {}, waits("gpu"), {"gpu": nodes}, expected)
    assert limit is not None
    assert limit.message.endswith(
        ("Expected at 15:00; ", "out of stock; ")[nodes is RETRIED] + expected["gpu"]
    )


@pytest.mark.parametrize(
    ("granted", "message"),
    [
        ({"gpu": 2}, "2 of up to 12 workers granted in group gpu"),
        ({"gpu": 2, "pairs": 12}, "2 of up to 12 workers granted in group gpu"),
    ],
)
def test_gang_that_keeps_its_minimum(granted: Mapping[str, int], message: str) -> None:
    why = (
        "gangs in a topology of queued nodes, and those with admission checks other than for nodes, keep "
        "their minimum"
    )
    assert unsupported(SIZES, granted) == GrowthLimit("GrowthUnsupported", f"{message}: {why}")
    assert unsupported({"gpu": GPU}, {"gpu": 12}) is None


@pytest.mark.parametrize(
    ("before", "now", "message"),
    [
        ({"gpu": 2}, {"gpu": 2}, ""),
        ({"gpu": 4}, {"gpu": 2}, ""),
        ({"gpu": 2}, {"gpu": 6}, "4 more: 6 of up to 12 workers granted in group gpu"),
        (
            {"gpu": 2, "open": 0},
            {"gpu": 3, "open": 1},
            "1 more: 3 of up to 12 workers granted in group gpu; 1 more: 1 worker granted in group open",
        ),
    ],
)
def test_growth(before: Mapping[str, int], now: Mapping[str, int], message: str) -> None:
    assert grown(SIZES, before, now) == message
