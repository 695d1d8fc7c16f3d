"""Time alone changes decisions of optional rules: an engine knows when, and then decides as a fresh one."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from muster.admission import Budget, Engine, Plan, PreemptionPolicy, Rules, Snapshot, WaitReason, Workload
from tests.unit.admission.builders import GPU, admitted, cohort, queue, running, snapshot, workload

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
END = 11 * DAY
NOW = END - 18 * HOUR
ML = [cohort("ml")]
BACKFILL = Rules(backfill=True)
NEVER = PreemptionPolicy.NEVER


def a_day(hours: int) -> tuple[Budget, ...]:
    return (Budget(GPU, hours * HOUR, DAY),)


def with_budget(*workloads: Workload, hours: int = 10, **fields: Any) -> Snapshot:
    return snapshot(queue("q", 8, **({"budgets": a_day(hours)} | fields)), *workloads)


def urgent(gpu: int, budget_hours: int) -> Snapshot:
    """The workload runs until the end of the day, once its victim has left."""
    return with_budget(
        running("victim", gpu=6, reserved_at_ms=NOW),
        workload("urgent", "q", gpu, priority=1, run_time_ms=DAY),
        hours=budget_hours,
        within_queue=PreemptionPolicy.LOWER_PRIORITY,
    )


@dataclass(frozen=True)
class Case:
    """`at_ms` is when something changes; `admits` and `reasons` are of the decision then."""

    of: Snapshot
    at_ms: int
    reasons: dict[str, WaitReason]
    admits: list[str] = field(default_factory=list)
    rules: Rules = field(default_factory=Rules)


CASES = {
    "a budget is used up while victims leave": Case(
        with_budget(
            running("victim", gpu=6, reserved_at_ms=NOW),
            workload("urgent", "q", 4, priority=1, run_time_ms=2 * HOUR),
            workload("small", "q", 1, run_time_ms=HOUR),
            hours=12,
            within_queue=PreemptionPolicy.LOWER_PRIORITY,
        ),
        NOW + 40 * MINUTE + 1,  # 4 * 2 h > 12 h - 6 * (t - now)
        {"urgent": WaitReason.BUDGET},
        admits=["small"],
    ),
    "a budget is used up faster than a workload needs less of the period": Case(
        urgent(3, budget_hours=60),
        NOW + 2 * HOUR + 1,  # 3 * (end - t) > 60 h - 6 * (t - now)
        {"urgent": WaitReason.BUDGET},
    ),
    "a period begins of which a workload would use more than of the last one": Case(
        urgent(6, budget_hours=6 * 18),
        END,
        {"urgent": WaitReason.BUDGET},
    ),
    "a budget of a longer period is used up, too": Case(
        with_budget(
            running("other", gpu=2, reserved_at_ms=NOW),
            workload("w", "q", 4, run_time_ms=4 * HOUR),
            budgets=(*a_day(10), Budget(GPU, 20 * HOUR, 5 * DAY)),
        ),
        NOW + 2 * HOUR + 1,  # 4 * 4 h > 20 h - 2 * (t - now)
        {"w": WaitReason.BUDGET},
    ),
    "a workload that waits for its victims would no longer end before a reserved start": Case(
        snapshot(
            [
                queue("a", 4, cohort="ml", within_queue=NEVER, reclaim_within_cohort=NEVER),
                queue("b", 4, cohort="ml", within_queue=PreemptionPolicy.LOWER_PRIORITY),
            ],
            running("long", "a", gpu=4, reserved_at_ms=NOW, run_time_ms=3 * HOUR),
            running("victim", "b", gpu=4, reserved_at_ms=NOW, run_time_ms=4 * HOUR),
            workload("head", "a", 8, priority=9, run_time_ms=HOUR),
            workload("urgent", "b", 4, priority=5, run_time_ms=HOUR),
            cohorts=ML,
        ),
        NOW + 2 * HOUR + 1,
        {"head": WaitReason.QUOTA, "urgent": WaitReason.RESERVED},
        rules=BACKFILL,
    ),
    "a head with a reservation exceeds its budget": Case(
        snapshot(
            [queue("q", 4, cohort="ml", budgets=a_day(13)), queue("p", 4, cohort="ml")],
            running("declared", "p", gpu=4, reserved_at_ms=NOW, run_time_ms=2 * HOUR),
            running("undeclared", "q", gpu=2, reserved_at_ms=NOW),
            workload("head", "q", 6, priority=9, run_time_ms=2 * HOUR),
            workload("behind", "p", 2),
            cohorts=ML,
        ),
        NOW + 30 * MINUTE + 1,  # 6 * 2 h > 13 h - 2 * (t - now)
        {"head": WaitReason.QUOTA},
        admits=["behind"],
        rules=BACKFILL,
    ),
}


def decided_as_a_fresh_one(engine: Engine, now_ms: int, rules: Rules) -> Plan:
    fresh = Engine(engine.snapshot, rules)
    expected, plan = fresh.decide(now_ms), engine.decide(now_ms)
    assert (plan.admissions, plan.preemptions) == (expected.admissions, expected.preemptions)
    assert list(engine.waiting(now_ms)) == list(fresh.waiting(now_ms))
    return plan


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_next_moment_of_an_engine_is_when_a_rule_decides_otherwise(case: Case) -> None:
    engine = Engine(case.of, case.rules)
    assert admitted(engine.decide(NOW)) == []
    assert engine.next_ms == case.at_ms
    assert admitted(decided_as_a_fresh_one(engine, case.at_ms - 1, case.rules)) == []
    assert admitted(decided_as_a_fresh_one(engine, case.at_ms, case.rules)) == case.admits
    assert {
        wait.workload.removeprefix("ns/"): wait.reason for wait in engine.waiting(case.at_ms)
    } == case.reasons


TOLD: dict[str, Snapshot] = {
    "another one uses a budget": with_budget(
        running("other", gpu=1, reserved_at_ms=NOW - HOUR), workload("w", "q", 2, run_time_ms=6 * HOUR)
    ),
    "another one uses its declared time": with_budget(
        running("other", gpu=2, reserved_at_ms=NOW - HOUR, run_time_ms=3 * HOUR),
        workload("w", "q", 2, run_time_ms=6 * HOUR),
    ),
    "another one runs longer than it has declared": with_budget(
        running("other", gpu=1, reserved_at_ms=NOW, run_time_ms=HOUR),
        workload("w", "q", 2, run_time_ms=DAY),
        hours=20,
    ),
    "a workload that has its quota from a later moment on uses a budget": with_budget(
        running("other", gpu=2, reserved_at_ms=NOW + HOUR), workload("w", "q", 2, run_time_ms=6 * HOUR)
    ),
}


@pytest.mark.parametrize("of", TOLD.values(), ids=TOLD)
def test_a_budget_is_told_in_the_same_words_while(of: Snapshot) -> None:
    engine = Engine(of)
    budget_waits = engine.decide(NOW).waiting
    assert [waiting.reason for waiting in budget_waits] == [WaitReason.BUDGET]
    for quarter in range(1, 12):
        decided_as_a_fresh_one(engine, NOW + quarter * 15 * MINUTE, Rules())
        (now,) = engine.waiting(NOW + quarter * 15 * MINUTE)
        assert (now.reason, now.message) == (WaitReason.BUDGET, budget_waits[0].message)
