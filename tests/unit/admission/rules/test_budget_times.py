"""Tests when a workload that a budget keeps waiting may be admitted at the earliest."""

from dataclasses import replace

import pytest

from muster.admission import Budget, Snapshot, Spent, Workload, decide
from tests.unit.admission.builders import GPU, queue, running, snapshot, workload

HOUR = 3_600_000
DAY = 24 * HOUR
START = 10 * DAY
END = START + DAY
NOW = START + 6 * HOUR  # 18 hours of the period are left
DECLARED, UNDECLARED = HOUR, None


def of_day(budget_hours: int, *workloads: Workload, spent_hours: int = 0) -> Snapshot:
    of = snapshot(queue("q", 8, budgets=(Budget(GPU, budget_hours * HOUR, DAY),)), *workloads)
    return replace(of, spent={"q": (Spent(GPU, START, spent_hours * HOUR),)})


def since_now(gpu: int, run_time_ms: int | None) -> Workload:
    return running("r", gpu=gpu, reserved_at_ms=NOW, run_time_ms=run_time_ms)


CASES: dict[str, tuple[Snapshot, int]] = {
    "without a run time it waits for the next period": (
        of_day(10, workload("w", "q", 1), spent_hours=10),
        END,
    ),
    "with one until its part of the period fits": (
        of_day(10, workload("w", "q", 1, run_time_ms=DAY)),
        END - 10 * HOUR,
    ),
    "less is left by the hour where others run on": (
        of_day(20, since_now(1, UNDECLARED), workload("w", "q", 2, run_time_ms=DAY)),
        # 2 * (end - t) <= 20 - (t - now)
        NOW + 16 * HOUR,
    ),
    "as much is used by the hour as it would need": (
        of_day(20, since_now(2, UNDECLARED), workload("w", "q", 2, run_time_ms=DAY)),
        END,
    ),
    "more is used by the hour than it would need": (
        of_day(20, since_now(4, UNDECLARED), workload("w", "q", 2, run_time_ms=DAY)),
        END,
    ),
    "what others still need is not there for it": (
        of_day(20, since_now(4, DECLARED), workload("w", "q", 2, run_time_ms=DAY)),
        # 2 * (end - t) <= 20 - 4
        END - 8 * HOUR,
    ),
}


@pytest.mark.parametrize(("of", "until_ms"), CASES.values(), ids=CASES)
def test_workload_is_tried_again_when_its_budget_may_allow_it(of: Snapshot, until_ms: int) -> None:
    (waiting,) = decide(of, NOW).waiting
    assert waiting.until_ms == until_ms


@pytest.mark.parametrize(
    "name",
    ["with one until its part of the period fits", "less is left by the hour where others run on"],
)
def test_nothing_is_let_in_before(name: str) -> None:
    of, until_ms = CASES[name]
    assert decide(of, until_ms - 1).admissions == ()
    assert [planned.workload for planned in decide(of, until_ms).admissions] == ["ns/w"]


def test_workload_that_has_just_started_has_used_nothing() -> None:
    of = of_day(10, since_now(1, UNDECLARED), workload("w", "q", 1, run_time_ms=10 * HOUR))
    assert [planned.workload for planned in decide(of, NOW).admissions] == ["ns/w"]


@pytest.mark.parametrize(("remaining", "admitted"), [(1, ["ns/w"]), (0, [])])
def test_without_a_run_time_anything_that_is_left_will_do(remaining: int, admitted: list[str]) -> None:
    of = replace(of_day(10, workload("w", "q", 1)), spent={"q": (Spent(GPU, START, 10 * HOUR - remaining),)})
    assert [planned.workload for planned in decide(of, NOW).admissions] == admitted


def test_one_that_would_run_too_long_does_not_speak_for_a_shorter_one() -> None:
    """Both are otherwise equal."""
    run_times = {"long": DAY, "short": HOUR}
    both = (
        workload(name, "q", 1, run_time_ms=run_times[name], queued_at_ms=n)
        for n, name in enumerate(run_times)
    )
    assert [planned.workload for planned in decide(of_day(10, *both), NOW).admissions] == ["ns/short"]
