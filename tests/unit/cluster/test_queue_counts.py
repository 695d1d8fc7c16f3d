"""Counts that are updated one Workload at a time are those of all Workloads."""

from random import Random
from typing import Any

import pytest

from muster.cluster.queue_counts import ACTIVE, NEVER_ADMISSIBLE, Contribution, QueueCounts, share_of
from muster.kube import kinds
from tests.simulation.manifests import GPU, ray_job
from tests.unit.controller.builders import Body, condition, make_cluster, read, workload_body

DEV = ray_job("dev")
CPU, L4 = ("cpu", "cpu"), ("l4", GPU)
BLOCKED = condition("SuspensionBlocked", reason="PodsRunning")


def workload_with_reason(*true: str, reason: str = "", blocked: bool = False, **meta: Any) -> Body:
    body = workload_body(DEV, *true, **meta)
    if reason:
        body["status"]["conditions"].append(condition("QuotaReserved", False, reason))
    if blocked:
        body["status"]["conditions"].append(BLOCKED)
    return body


# a Workload -> its pending status, whether it is admitted, why it is blocked; None: it does not count
SHARES: dict[str, tuple[Body, tuple[str, bool, str] | None]] = {
    "it waits": (workload_with_reason(), (ACTIVE, False, "")),
    "it waits for quota": (workload_with_reason(reason="WaitingForQuota"), (ACTIVE, False, "")),
    "it never fits": (workload_with_reason(reason="ExceedsMaxQuota"), (NEVER_ADMISSIBLE, False, "")),
    "it holds quota": (workload_with_reason("QuotaReserved"), ("", False, "")),
    "it is admitted": (workload_with_reason("QuotaReserved", "Admitted"), ("", True, "")),
    "it must stop and has not": (
        workload_with_reason("QuotaReserved", "Admitted", blocked=True),
        ("", True, "PodsRunning"),
    ),
    "it is finished": (workload_with_reason("QuotaReserved", "Admitted", "Finished", finalizers=[]), None),
    "it is finished, and holds quota": (
        workload_with_reason("QuotaReserved", "Admitted", "Finished"),
        ("", True, ""),
    ),
}


@pytest.mark.parametrize("name", SHARES)
def test_what_a_workload_adds(name: str) -> None:
    body, expected = SHARES[name]
    share = share_of(read(kinds.WORKLOADS, body), make_cluster({kinds.WORKLOADS: [body]}))
    assert (share and (share.pending, share.is_admitted, share.blocked)) == expected
    assert share is None or (share.cluster_queue, share.local_queue) == ("team-a", "team-a/user-queue")
    assert bool(share and share.usage) is bool(share and not share.pending)


def drawn(random: Random) -> Contribution:
    pending = random.choice(("", ACTIVE, NEVER_ADMISSIBLE))
    usage = tuple((random.choice((CPU, L4)), random.randrange(3)) for _ in range(random.randrange(3)))
    return Contribution(
        cluster_queue=random.choice("ab"),
        local_queue=random.choice("cd"),
        pending=pending,
        queued_ms=random.randrange(5),
        is_admitted=not pending and random.random() < 0.5,
        blocked=random.choice(("", "PodsRunning")),
        usage=() if pending else usage,
    )


@pytest.mark.parametrize("seed", range(3))
def test_updated_counts_are_those_of_all_shares(seed: int) -> None:
    random, updated_counts = Random(seed), QueueCounts()
    for _ in range(300):
        updated_counts.put(random.choice("123"), drawn(random) if random.random() < 0.7 else None)
        fresh = QueueCounts()
        for key, share in updated_counts.shares.items():
            fresh.put(key, share)
        assert updated_counts == fresh
