"""Budgets of resource hours a queue and period."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.admission import (
    Budget,
    Enforcement,
    Engine,
    PreemptionPolicy,
    Snapshot,
    Spent,
    StopPolicy,
    WaitReason,
    Workload,
    decide,
)
from tests.unit.admission.builders import (
    GPU,
    admitted,
    applied,
    cohort,
    messages,
    preempted,
    queue,
    reasons,
    running,
    snapshot,
    without,
    workload,
)
from tests.unit.admission.strategies import PROPERTY

HOUR = 3_600_000
DAY = 24 * HOUR
START = 10 * DAY
NOW = START + 6 * HOUR  # of a period of a day
TEN = (Budget(GPU, 10 * HOUR, DAY),)


def of_day(*workloads: Workload, spent: int = 0, since_ms: int = START, **fields: object) -> Snapshot:
    """One queue with 8 GPUs, and 10 hours of them a day."""
    of = snapshot(queue("q", 8, **({"budgets": TEN} | fields)), *workloads)
    return replace(of, spent={"q": (Spent(GPU, since_ms, spent * HOUR),)})


def of_flavor(flavor: str, spent_in: str) -> Snapshot:
    """A budget of a flavor of a queue with 8 GPUs of flavor l4, and 10 hours used in a flavor."""
    of = of_day(workload("w", "q", 1), budgets=(replace(TEN[0], flavor=flavor),))
    return replace(of, spent={"q": (Spent(GPU, START, 10 * HOUR, spent_in),)})


def after_day(yesterday: int, today: int, **fields: object) -> Snapshot:
    """Used hours of 20:00 to 21:00 of the previous day, and of the first hour of this one."""
    of = of_day(workload("w", "q", 1), budgets=(replace(TEN[0], **fields),))  # type: ignore[arg-type]
    spent = (Spent(GPU, START - 4 * HOUR, yesterday * HOUR), Spent(GPU, START, today * HOUR))
    return replace(of, spent={"q": spent})


def test_periods_follow_each_other_from_the_anchor() -> None:
    week = Budget(GPU, 1, 7 * DAY, anchor_ms=4 * DAY)
    assert week.period(4 * DAY) == (4 * DAY, 11 * DAY)
    assert week.period(11 * DAY - 1) == (4 * DAY, 11 * DAY)
    assert week.period(11 * DAY) == (11 * DAY, 18 * DAY)
    assert week.period(0) == (-3 * DAY, 4 * DAY)


CASES: dict[str, tuple[Snapshot, bool]] = {
    "something is left": (of_day(workload("w", "q", 8), spent=9), True),
    "used up": (of_day(workload("w", "q", 1), spent=10), False),
    "used up by running workloads": (
        of_day(running("r", gpu=2, reserved_at_ms=NOW - 5 * HOUR), workload("w", "q", 1)),
        False,
    ),
    "running workloads have not used it up yet": (
        of_day(running("r", gpu=2, reserved_at_ms=NOW - 5 * HOUR + 1), workload("w", "q", 1)),
        True,
    ),
    "only what was used in this period counts": (
        of_day(running("r", gpu=1, reserved_at_ms=0), workload("w", "q", 1), spent=3),
        True,
    ),
    "what an earlier period used does not": (
        of_day(workload("w", "q", 1), spent=10, since_ms=START - DAY),
        True,
    ),
    "other resources do not": (
        replace(of_day(workload("w", "q", 1)), spent={"q": (Spent("cpu", START, 10 * HOUR),)}),
        True,
    ),
    "other queues do not": (
        replace(of_day(workload("w", "q", 1)), spent={"other": (Spent(GPU, START, 10 * HOUR),)}),
        True,
    ),
    "fits the remainder": (of_day(workload("w", "q", 2, run_time_ms=HOUR), spent=8), True),
    "does not fit the remainder": (of_day(workload("w", "q", 2, run_time_ms=HOUR + 1), spent=8), False),
    "only its part of this period counts": (of_day(workload("w", "q", 1, run_time_ms=DAY)), False),
    "which fits at the end of it": (
        of_day(workload("w", "q", 1, run_time_ms=DAY), budgets=(Budget(GPU, 18 * HOUR, DAY),)),
        True,
    ),
    "in addition to the future usage of running workloads": (
        of_day(
            running("r", gpu=2, reserved_at_ms=NOW - HOUR, run_time_ms=4 * HOUR),
            workload("w", "q", 1, run_time_ms=2 * HOUR),
        ),
        True,
    ),
    "not in addition to the future usage of running workloads": (
        of_day(
            running("r", gpu=2, reserved_at_ms=NOW - HOUR, run_time_ms=4 * HOUR),
            workload("w", "q", 1, run_time_ms=2 * HOUR + 1),
        ),
        False,
    ),
    "a workload that runs longer than declared continues using it": (
        of_day(running("r", gpu=2, reserved_at_ms=NOW - 5 * HOUR, run_time_ms=HOUR), workload("w", "q", 1)),
        False,
    ),
    "unaffected by workloads that use other resources": (
        of_day(
            running("r", gpu=0, reserved_at_ms=NOW - HOUR, run_time_ms=4 * HOUR),
            workload("w", "q", 1, run_time_ms=10 * HOUR),
        ),
        True,
    ),
    "a workload that starts in the future has used nothing": (
        of_day(running("r", gpu=1, reserved_at_ms=NOW + 1), workload("w", "q", 1)),
        True,
    ),
    "usage of another flavor does not count": (of_flavor("t4", spent_in="l4"), True),
    "usage of its flavor counts": (of_flavor("l4", spent_in="l4"), False),
    "usage of any flavor counts without one": (of_flavor("", spent_in="t4"), False),
    "usage before it was recorded does not count twice": (
        of_day(
            running("r", gpu=2, reserved_at_ms=NOW - 5 * HOUR, counts_from_ms=NOW - HOUR),
            workload("w", "q", 1),
            spent=7,
        ),
        True,
    ),
    "a budget that only warns": (
        of_day(workload("w", "q", 1), spent=10, budgets=(replace(TEN[0], enforcement=Enforcement.WARN),)),
        True,
    ),
    "an unused rest of the previous period": (
        of_day(workload("w", "q", 1), spent=19, budgets=(replace(TEN[0], carries_over=True),)),
        True,
    ),
    "no more than the previous period": (
        of_day(workload("w", "q", 1), spent=20, budgets=(replace(TEN[0], carries_over=True),)),
        False,
    ),
    "a previous period without a rest": (
        after_day(9, today=11, carries_over=True),
        False,
    ),
    "a previous period with a rest": (after_day(9, today=10, carries_over=True), True),
    "an excess of the previous period": (after_day(30, today=9, carries_over=True), True),
    "within the last 24 hours": (after_day(6, today=4, rolling=True), False),
    "within the last 24 hours, with less used": (after_day(6, today=3, rolling=True), True),
    "within this month": (after_day(6, today=4, period_ms=None), False),
    "within this month, with less used": (after_day(6, today=3, period_ms=None), True),
    "no request of the resource": (of_day(workload("w", "q", 0), spent=10), True),
    "no budget": (of_day(workload("w", "q", 1), spent=10, budgets=()), True),
}


@pytest.mark.parametrize(("of", "lets_in"), CASES.values(), ids=CASES)
def test_budget_admits_while_something_is_left(of: Snapshot, lets_in: bool) -> None:
    assert admitted(decide(of, NOW)) == (["w"] if lets_in else [])


MONTHS: dict[str, tuple[datetime, datetime, datetime]] = {
    "its first moment": (datetime(2026, 2, 1), datetime(2026, 2, 1), datetime(2026, 3, 1)),
    "its last second": (datetime(2026, 2, 28, 23, 59, 59), datetime(2026, 2, 1), datetime(2026, 3, 1)),
    "December": (datetime(2026, 12, 31, 12), datetime(2026, 12, 1), datetime(2027, 1, 1)),
    "a leap year": (datetime(2028, 2, 29), datetime(2028, 2, 1), datetime(2028, 3, 1)),
}


@pytest.mark.parametrize(("now", "start", "end"), MONTHS.values(), ids=MONTHS)
def test_months_are_of_the_calendar(now: datetime, start: datetime, end: datetime) -> None:
    now_ms, *period = (int(at.replace(tzinfo=UTC).timestamp() * 1000) for at in (now, start, end))
    assert Budget(GPU, 1, None).period(now_ms + 999) == tuple(period)


def test_rolling_budget_is_retried_when_usage_leaves_its_window() -> None:
    engine = Engine(after_day(6, today=4, rolling=True))
    engine.decide(NOW)
    leaves_ms = START - 4 * HOUR + DAY
    retries = 0
    while not admitted(engine.decide(next_ms := engine.next_ms or 0)):
        retries += 1
    assert (next_ms, retries) == (leaves_ms, (leaves_ms - NOW) // HOUR - 1)


SENTENCES: dict[str, tuple[dict[str, object], str]] = {
    "month": ({"period_ms": None}, f"10 {GPU} hours of this month"),
    "rolling": ({"rolling": True, "period_ms": 7 * DAY}, f"10 {GPU} hours of the last 7 d"),
    "flavor": ({"flavor": "l4"}, f"10 {GPU} hours in flavor l4 of this 1 d"),
}


@pytest.mark.parametrize(("fields", "words"), SENTENCES.values(), ids=SENTENCES)
def test_message_describes_the_budget(fields: dict[str, object], words: str) -> None:
    budget = replace(TEN[0], **fields)  # type: ignore[arg-type]
    of = of_day(workload("w", "q", 1), budgets=(budget,))
    of = replace(of, spent={"q": (Spent(GPU, START, 10 * HOUR, "l4"),)})
    assert messages(decide(of, NOW)) == {
        "w": f"needs 1 {GPU}, but ClusterQueue q has too little left of its {words}"
    }


def test_those_of_one_decision_share_what_is_left() -> None:
    wants = [workload(f"w{n}", "q", 1, run_time_ms=3 * HOUR, queued_at_ms=n) for n in range(5)]
    plan = decide(of_day(*wants), NOW)
    assert admitted(plan) == ["w0", "w1", "w2"]
    assert reasons(plan) == {"w3": WaitReason.BUDGET, "w4": WaitReason.BUDGET}
    why = f"needs 1 {GPU} for 3 h, but ClusterQueue q has too little left of its 10 {GPU} hours of this 1 d"
    assert messages(plan) == {"w3": why, "w4": why}


def test_cpu_is_told_in_cores() -> None:
    of = snapshot(
        queue("q", {"cpu": {"cpu": 8000}}, budgets=(Budget("cpu", 1500 * HOUR, DAY),)),
        workload("w", "q", replace(workload("x", "q", 1).pod_sets[0], requests={"cpu": 2500})),
    )
    of = replace(of, spent={"q": (Spent("cpu", START, 1550 * HOUR),)})
    assert messages(decide(of, NOW)) == {
        "w": "needs 2.5 cpu, but ClusterQueue q has too little left of its 1.5 cpu hours of this 1 d"
    }


def test_a_cohort_has_one_budget_for_all_its_queues() -> None:
    """Even workloads that are stopped and still have pods."""
    ml = replace(cohort("ml", "org"), budgets=TEN)
    of = snapshot(
        [
            queue("a", 4, cohort="ml"),
            queue("b", 4, cohort="ml", stop=StopPolicy.HOLD),
            queue("c", 4, cohort="org"),
            queue("d", 4),
        ],
        running("r", "b", gpu=2, reserved_at_ms=NOW - 5 * HOUR),
        workload("w", "a", 1),
        workload("free", "c", 1),
        workload("alone", "d", 1),
        cohorts=[ml, cohort("org")],
    )
    plan = decide(of, NOW)
    assert sorted(admitted(plan)) == ["alone", "free"]
    assert "cohort ml has too little left of its 10" in messages(plan)["w"]


def test_note_names_the_budget_that_lasts_longest() -> None:
    both = (Budget(GPU, HOUR, 2 * DAY), Budget(GPU, HOUR, DAY))
    of = replace(of_day(workload("w", "q", 1), budgets=both), spent={"q": (Spent(GPU, START, 9 * HOUR),)})
    (waiting,) = decide(of, NOW).waiting
    assert waiting.until_ms == START + 2 * DAY


def test_running_workload_may_finish_and_none_is_preempted_in_vain() -> None:
    of = of_day(
        running("r", gpu=8, reserved_at_ms=START),
        workload("w", "q", 8, priority=1),
        within_queue=PreemptionPolicy.LOWER_PRIORITY,
    )
    plan = decide(of, NOW)
    assert (preempted(plan), plan.drained) == ([], ())
    assert reasons(plan) == {"w": WaitReason.BUDGET}


def test_next_period_starts_from_zero_and_an_engine_retries_then() -> None:
    engine = Engine(of_day(workload("w", "q", 1), workload("alike", "q", 1, queued_at_ms=1), spent=10))
    plan = engine.decide(NOW)
    assert {wait.until_ms for wait in plan.waiting} == {START + DAY}
    assert admitted(engine.decide(START + DAY - 1)) == []
    assert admitted(engine.decide(START + DAY)) == ["w", "alike"]


def test_next_period_is_waited_for_even_where_another_flavor_was_tried_in_vain() -> None:
    of = snapshot(queue("q", {"l4": {GPU: 8}, "t4": {GPU: 1}}, budgets=TEN), workload("w", "q", 2))
    engine = Engine(replace(of, spent={"q": (Spent(GPU, START, 10 * HOUR),)}))
    assert reasons(engine.decide(NOW)) == {"w": WaitReason.BUDGET}
    assert engine.next_ms == START + DAY
    assert admitted(engine.decide(START + DAY)) == ["w"]


def test_it_may_fit_what_is_left_once_less_of_the_period_is() -> None:
    """A run of 12 hours from 18:00 on counts with 6."""
    engine = Engine(of_day(workload("w", "q", 1, run_time_ms=12 * HOUR), spent=4))
    (waiting,) = engine.decide(NOW).waiting
    assert waiting.until_ms == START + 18 * HOUR
    assert admitted(engine.decide(START + 18 * HOUR - 1)) == []
    assert admitted(engine.decide(START + 18 * HOUR)) == ["w"]


@st.composite
def loads(draw: st.DrawFn) -> tuple[int, list[Workload]]:
    run_times = st.integers(1, 12)
    wants = [
        workload(f"w{n}", "q", draw(st.integers(1, 4)), run_time_ms=draw(run_times), queued_at_ms=n)
        for n in range(draw(st.integers(1, 8)))
    ]
    return draw(st.integers(0, 40)), wants


@PROPERTY
@given(loads())
def test_with_declared_run_times_no_budget_is_exceeded(load: tuple[int, list[Workload]]) -> None:
    """Time passes in steps, and running workloads are counted by hand. Only workloads of an earlier
    period that continue may exceed the budget."""
    unit_ms, wants = load
    period = 10
    now = snapshot(queue("q", 6, budgets=(Budget(GPU, unit_ms, period),)), *wants)
    for start_ms in range(0, 3 * period, period):
        used = carried = spent = 0
        for now_ms in range(start_ms, start_ms + period):
            for queued in [
                queued for queued in now.workloads if queued.admission and _ends_ms(queued) == now_ms
            ]:
                spent += _gpus(queued) * (now_ms - max(queued.reserved_at_ms, start_ms))
                now = without(now, queued.key.removeprefix("ns/"))
            now = replace(now, spent={"q": (Spent(GPU, start_ms, spent),)})
            now = applied(now, decide(now, now_ms), now_ms)
            for queued in now.workloads:
                if queued.admission:
                    used += _gpus(queued)
                    carried += _gpus(queued) if queued.reserved_at_ms < start_ms else 0
        assert used <= max(unit_ms, carried)


def _gpus(workload: Workload) -> int:
    return workload.pod_sets[0].requests[GPU]


def _ends_ms(workload: Workload) -> int:
    assert workload.run_time_ms is not None
    return workload.reserved_at_ms + workload.run_time_ms


REPORTS: dict[str, tuple[Snapshot, tuple[int, int, int, int | None]]] = {
    "recorded usage": (of_day(spent=4), (10, 4, 0, None)),
    "running workloads": (
        of_day(running("r", gpu=2, reserved_at_ms=NOW - HOUR), spent=4),
        (10, 6, 0, NOW + 2 * HOUR),
    ),
    "declared run times": (
        of_day(running("r", gpu=1, reserved_at_ms=NOW - HOUR, run_time_ms=3 * HOUR)),
        (10, 1, 2, NOW + 9 * HOUR),
    ),
    "carried over": (after_day(3, today=1, carries_over=True), (17, 1, 0, None)),
    "used up": (of_day(spent=11), (10, 11, 0, NOW)),
    "not before the end of the period": (
        of_day(running("r", gpu=1, reserved_at_ms=NOW)),
        (10, 0, 0, NOW + 10 * HOUR),
    ),
    "enough for the period": (
        of_day(running("r", gpu=1, reserved_at_ms=NOW), budgets=(Budget(GPU, 18 * HOUR, DAY),)),
        (18, 0, 0, None),
    ),
}


@pytest.mark.parametrize(("of", "hours"), REPORTS.values(), ids=REPORTS)
def test_report_has_usage_and_when_it_runs_out(of: Snapshot, hours: tuple[int, int, int, int | None]) -> None:
    (usage,) = Engine(of).budget_usage(NOW)
    amounts = (usage.limit_unit_ms, usage.used_unit_ms, usage.committed_unit_ms)
    assert (*(amount // HOUR for amount in amounts), usage.runs_out_ms(NOW)) == hours
    assert (usage.name, usage.is_cohort, usage.start_ms, usage.end_ms) == ("q", False, START, START + DAY)


def test_report_adds_the_queues_of_a_cohort() -> None:
    of = snapshot(
        [queue("a", 4, cohort="ml"), queue("b", 4, cohort="ml")],
        running("r", "b", gpu=2, reserved_at_ms=NOW - HOUR),
        cohorts=[replace(cohort("ml"), budgets=TEN), replace(cohort("empty"), budgets=TEN)],
    )
    of = replace(of, spent={"a": (Spent(GPU, START, HOUR),)})
    usages = Engine(of).budget_usage(NOW)
    assert [(u.name, u.is_cohort, u.used_unit_ms) for u in usages] == [
        ("ml", True, 3 * HOUR),
        ("empty", True, 0),
    ]


NEVER: dict[str, Snapshot] = {
    "a budget of 0": of_day(workload("w", "q", 1), budgets=(Budget(GPU, 0, DAY),)),
    "more than a rolling budget": of_day(
        workload("w", "q", 1, run_time_ms=11 * HOUR), budgets=(replace(TEN[0], rolling=True),)
    ),
}


@pytest.mark.parametrize("of", NEVER.values(), ids=NEVER)
def test_workload_that_never_fits_sets_no_timer(of: Snapshot) -> None:
    engine = Engine(of)
    assert reasons(engine.decide(NOW)) == {"w": WaitReason.BUDGET}
    assert engine.next_ms is None
