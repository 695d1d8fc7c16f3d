"""A head continues with its search for flavors from cycle to cycle, but not forever."""

from dataclasses import replace

import pytest

from muster.admission import PreemptionPolicy, QueueingStrategy, Quota, Snapshot, WaitReason, decide
from tests.unit.admission.builders import (
    GPU,
    NOW_MS,
    Quotas,
    admitted,
    pods,
    queue,
    reasons,
    running,
    snapshot,
    workload,
)

LOWER = PreemptionPolicy.LOWER_PRIORITY


def gang_whose_pod_sets_take_turns(strategy: QueueingStrategy) -> Snapshot:
    """The first pod set fits on x, where the second finds no victims, and the other way round on y: in
    each cycle one of them begins with the first flavor again."""
    a: Quotas = {"x": {GPU: 1}, "y": {GPU: Quota(4, borrowing_limit=1)}}
    b: Quotas = {"x": {GPU: 4}, "y": {GPU: Quota(1, borrowing_limit=3)}}
    return snapshot(
        [
            queue("a", a, cohort="ml", strategy=strategy, within_queue=LOWER),
            queue("b", b, cohort="ml", within_queue=LOWER),
        ],
        running("other", "a", gpu=5, flavor="y", priority=100),
        running("reclaimer", "b", gpu=2, flavor="x"),
        workload("gang", "a", pods("p0", gpu=2), pods("p1", gpu=3)),
    )


@pytest.mark.parametrize("strategy", QueueingStrategy)
def test_pod_sets_that_take_turns_come_to_an_end(strategy: QueueingStrategy) -> None:
    plan = decide(gang_whose_pod_sets_take_turns(strategy), NOW_MS)
    assert (admitted(plan), reasons(plan)) == ([], {"gang": WaitReason.QUOTA})


@pytest.mark.parametrize(
    ("strategy", "others"),
    [(QueueingStrategy.BEST_EFFORT_FIFO, ["small"]), (QueueingStrategy.STRICT_FIFO, [])],
)
def test_other_heads_are_tried_then(strategy: QueueingStrategy, others: list[str]) -> None:
    scene = gang_whose_pod_sets_take_turns(strategy)
    small = workload("small", "a", 1, queued_at_ms=1)
    plan = decide(replace(scene, workloads=(*scene.workloads, small)), NOW_MS)
    assert admitted(plan) == others
