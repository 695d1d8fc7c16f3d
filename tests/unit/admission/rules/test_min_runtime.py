"""Minimum run time before preemption."""

from typing import Any

import pytest

from muster.admission import (
    Budget,
    Engine,
    FairSharing,
    PreemptionPolicy,
    Rules,
    Snapshot,
    WaitReason,
    decide,
)
from muster.admission.rules.min_runtime import MinRuntime
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import (
    NOW_MS,
    admitted,
    messages,
    preempted,
    queue,
    reasons,
    running,
    snapshot,
    workload,
)

LOWER, ANY = PreemptionPolicy.LOWER_PRIORITY, PreemptionPolicy.ANY
FAIR = FairSharing()
MIN_MS = 600_000
SENTENCE = "and workloads that it may preempt are protected for 10 min after their start"


def within(ran_ms: int, run_time_ms_min: int | None = None, **fields: Any) -> Snapshot:
    return snapshot(
        queue("q", 4, within_queue=LOWER, run_time_ms_min=run_time_ms_min),
        running("r", gpu=3, reserved_at_ms=NOW_MS - ran_ms, **fields),
        workload("w", "q", 4, priority=1),
    )


def across(ran_ms: int, run_time_ms_min: int | None = None) -> Snapshot:
    """A queue takes back what another one borrows: the minimum is the borrower's."""
    return snapshot(
        [
            queue("a", 4, cohort="ml", reclaim_within_cohort=ANY),
            queue("b", 0, cohort="ml", run_time_ms_min=run_time_ms_min),
        ],
        running("r", "b", gpu=3, reserved_at_ms=NOW_MS - ran_ms),
        workload("w", "a", 4),
    )


CASES: dict[str, tuple[Snapshot, int, bool]] = {
    # snapshot; the minimum for all; whether the running workload must leave
    "off": (within(0), 0, True),
    "too young": (within(MIN_MS - 1), MIN_MS, False),
    "old enough": (within(MIN_MS), MIN_MS, True),
    "the queue's own is shorter": (within(1, run_time_ms_min=1), MIN_MS, True),
    "the queue has none": (within(0, run_time_ms_min=0), MIN_MS, True),
    "the queue's own is longer": (within(MIN_MS, run_time_ms_min=MIN_MS + 1), 1, False),
    "in the cohort too young": (across(MIN_MS - 1), MIN_MS, False),
    "in the cohort old enough": (across(MIN_MS), MIN_MS, True),
    "in the cohort by the borrower's minimum": (across(0, run_time_ms_min=0), MIN_MS, True),
}


def test_the_next_end_is_one_that_has_not_come() -> None:
    """Otherwise the timer would fire again at the same time."""
    min_runtime = MinRuntime({"q": MIN_MS})
    min_runtime.now_ms = NOW_MS
    state = WorkingState(
        snapshot(
            queue("q", 4),
            *(running(f"r{ran}", reserved_at_ms=NOW_MS - ran) for ran in (MIN_MS, MIN_MS - 1, MIN_MS - 2)),
        )
    )
    assert min_runtime.next_end_ms(state.holdings["q"].values()) == NOW_MS + 1


@pytest.mark.parametrize("sharing", [None, FAIR], ids=["classical", "fair"])
@pytest.mark.parametrize(("of", "min_ms", "leaves"), CASES.values(), ids=CASES)
def test_workload_is_preempted_after_its_minimum_run_time(
    of: Snapshot, min_ms: int, leaves: bool, sharing: FairSharing | None
) -> None:
    plan = decide(of, NOW_MS, Rules(run_time_ms_min=min_ms, fair_sharing=sharing))
    assert preempted(plan) == ([("r", "w")] if leaves else [])
    (waiting,) = plan.waiting
    if not leaves:
        assert waiting.reason is WaitReason.QUOTA
        assert "and workloads that it may preempt are protected for" in waiting.message


def test_another_victim_is_found() -> None:
    of = snapshot(
        queue("q", 4, within_queue=LOWER),
        running("young", gpu=2, reserved_at_ms=NOW_MS),
        running("old", gpu=2, reserved_at_ms=0, priority=1),
        workload("w", "q", 2, priority=2),
    )
    assert preempted(decide(of, NOW_MS, Rules(run_time_ms_min=MIN_MS))) == [("old", "w")]
    assert preempted(decide(of, NOW_MS)) == [("young", "w")]


def test_leaving_workload_is_not_protected() -> None:
    plan = decide(within(0, evicted=True), NOW_MS, Rules(run_time_ms_min=MIN_MS))
    assert reasons(plan) == {"w": WaitReason.PREEMPTION}


def test_admission_of_the_same_decision_is_not_protected() -> None:
    """An owner that looks later takes back what a borrower was given in the same moment."""
    of = snapshot(
        [
            queue("a", 2, cohort="ml", within_queue=LOWER, reclaim_within_cohort=ANY),
            queue("b", 2, cohort="ml"),
        ],
        running("r", "a", gpu=1),
        workload("borrower", "b", 3, priority=1),
        workload("owner", "a", 1, queued_at_ms=1),
        workload("second", "a", 1, priority=-1, queued_at_ms=2),
    )
    rules = Rules(run_time_ms_min=MIN_MS)
    assert admitted(decide(of, NOW_MS, rules)) == admitted(decide(of, NOW_MS))


def test_it_says_when_the_first_may_be_preempted_and_an_engine_looks_again_then() -> None:
    of = snapshot(
        queue("q", 4, within_queue=LOWER),
        running("early", gpu=2, reserved_at_ms=NOW_MS - 1000),
        running("late", gpu=2, reserved_at_ms=NOW_MS),
        workload("w", "q", 2, priority=1),
        workload("alike", "q", 2, priority=1, queued_at_ms=1),
    )
    engine = Engine(of, Rules(run_time_ms_min=MIN_MS))
    plan = engine.decide(NOW_MS)
    until_ms = NOW_MS - 1000 + MIN_MS
    assert {wait.workload: wait.until_ms for wait in plan.waiting} == {"ns/w": until_ms, "ns/alike": until_ms}
    assert all(message.endswith(SENTENCE) for message in messages(plan).values())
    assert preempted(engine.decide(until_ms - 1)) == []
    assert preempted(engine.decide(until_ms)) == [("early", "w")]


def test_it_does_not_say_so_where_that_is_not_what_binds() -> None:
    """Even all of them would not make enough room."""
    of = snapshot(
        queue("q", 4, within_queue=LOWER),
        running("r", gpu=1, reserved_at_ms=NOW_MS),
        running("high", gpu=3, reserved_at_ms=NOW_MS, priority=2),
        workload("w", "q", 4, priority=1),
    )
    (waiting,) = decide(of, NOW_MS, Rules(run_time_ms_min=MIN_MS)).waiting
    assert waiting.until_ms is None
    assert "have to run" not in waiting.message


def test_nor_where_it_could_not_be_told_beforehand() -> None:
    """The borrower alone would not make enough room."""
    of = snapshot(
        [queue("a", 4, cohort="ml", reclaim_within_cohort=ANY), queue("b", 0, cohort="ml")],
        running("high", "a", gpu=3, priority=2),
        running("r", "b", gpu=1, reserved_at_ms=NOW_MS),
        workload("w", "a", 4, priority=1),
    )
    (waiting,) = decide(of, NOW_MS, Rules(run_time_ms_min=MIN_MS, fair_sharing=FAIR)).waiting
    assert waiting.until_ms is None


@pytest.mark.parametrize("flavors", [("l4", "a100"), ("a100", "l4")])
def test_earlier_of_two_flavors_times_counts(flavors: tuple[str, str]) -> None:
    of = snapshot(
        queue("q", {flavor: {"nvidia.com/gpu": 2} for flavor in flavors}, within_queue=LOWER),
        running("x", gpu=2, reserved_at_ms=NOW_MS),
        running("y", gpu=2, flavor="a100", reserved_at_ms=NOW_MS - 5),
        workload("w", "q", 2, priority=1),
    )
    (waiting,) = decide(of, NOW_MS, Rules(run_time_ms_min=MIN_MS)).waiting
    assert waiting.until_ms == NOW_MS - 5 + MIN_MS


def test_each_is_told_when_its_own_victims_may_be_preempted() -> None:
    of = snapshot(
        [queue("a", 4, within_queue=LOWER), queue("b", 4, within_queue=LOWER)],
        running("early", "a", gpu=4, reserved_at_ms=NOW_MS - 1000),
        running("late", "b", gpu=4, reserved_at_ms=NOW_MS),
        workload("first", "a", 4, priority=1),
        workload("second", "b", 4, priority=1),
    )
    plan = decide(of, NOW_MS, Rules(run_time_ms_min=MIN_MS))
    assert {wait.workload: wait.until_ms for wait in plan.waiting} == {
        "ns/first": NOW_MS - 1000 + MIN_MS,
        "ns/second": NOW_MS + MIN_MS,
    }


def test_workload_admitted_beside_a_higher_priority_is_protected_from_the_next_decision_on() -> None:
    """The budget has too little left for `high`, which would preempt `low` otherwise."""
    hour, day = 3_600_000, 86_400_000
    of = snapshot(
        queue("q", 4, within_queue=LOWER, budgets=(Budget("nvidia.com/gpu", hour, day),)),
        workload("high", "q", 4, priority=1, run_time_ms=hour),
        workload("low", "q", 1, run_time_ms=hour),
    )
    engine = Engine(of, Rules(run_time_ms_min=MIN_MS))
    plan = engine.decide(NOW_MS)
    assert (admitted(plan), reasons(plan), engine.settled) == (["low"], {"high": WaitReason.BUDGET}, False)
    engine.decide(NOW_MS)
    (waiting,) = engine.waiting(NOW_MS)
    assert (waiting.reason, waiting.until_ms, engine.settled) == (WaitReason.QUOTA, NOW_MS + MIN_MS, True)
    assert waiting.message.endswith(SENTENCE)
