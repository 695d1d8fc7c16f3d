"""Budgets in the outcome of a future, and in the reports of forecasts and plans."""

from typing import Any

import pytest

from muster.admission import HOUR_MS
from muster.forecast import futures
from muster.forecast.assumptions import Assumptions
from muster.forecast.report.budgets import budget_document, budget_forecasts, budget_tables
from muster.forecast.results.budgets import BudgetOutcome
from muster.forecast.traces.trace import TraceJob
from tests.unit.forecast.builders import (
    GPU,
    PREEMPTS,
    configured,
    job,
    placed,
    priority,
    queue,
    simulated,
    with_budget,
)

HOUR = 3600
DAY = 24 * HOUR
LOW: dict[str, Any] = {"priority_class": "low"}
HIGH: dict[str, Any] = {"priority_class": "high"}
Parts = tuple[int, int, float | None, float]
"""The periods, those in which the budget is used up, the hour when it is first, and the mean usage."""


def budget_of(hours: int, *jobs: TraceJob, **fields: Any) -> BudgetOutcome:
    classes = priority("low", 1), priority("high", 100)
    of = with_budget(queue("a", 8, **PREEMPTS), hours, **{"enforcement": "warn"} | fields)
    (budget,) = simulated(configured(of, *classes), *jobs).budgets
    return budget


CASES: dict[str, tuple[BudgetOutcome, Parts]] = {
    "used up": (budget_of(8, job("j", 0, 2 * HOUR, 8)), (1, 1, 1, 16)),
    "at its end": (budget_of(16, job("j", 0, 2 * HOUR, 8)), (1, 1, 2, 16)),
    "it lasts": (budget_of(17, job("j", 0, 2 * HOUR, 8)), (1, 0, None, 16)),
    "in each of two days": (budget_of(8, job("j", 23 * HOUR, 2 * HOUR, 8)), (2, 2, 24, 8)),
    "in the second of three days": (
        budget_of(9, job("j", 23 * HOUR, 4 * HOUR, 8), job("last", 2 * DAY + 1, HOUR, 1)),
        (3, 1, 24 + 9 / 8, (8 + 24 + 1) / 3),
    ),
    "carried over": (budget_of(16, job("j", 23 * HOUR, 4 * HOUR, 8), carryOver=True), (2, 1, 27, 16)),
    "a month": (budget_of(16, job("j", 23 * HOUR, 4 * HOUR, 8), period="month"), (1, 1, 25, 32)),
    "rolling": (budget_of(16, job("j", 23 * HOUR, 4 * HOUR, 8), period="rolling", days=1), (1, 1, 25, 32)),
    "rolling: it expires": (
        budget_of(25, job("i", 0, DAY, 1), job("j", 2 * DAY, DAY, 1), period="rolling", days=1),
        (1, 0, None, 24),
    ),
    "another flavor": (budget_of(8, job("j", 0, 2 * HOUR, 8), flavor="t4"), (1, 0, None, 0)),
    "the flavor": (budget_of(8, job("j", 0, 2 * HOUR, 8), flavor="h100"), (1, 1, 1, 16)),
    "preempted attempts count": (
        budget_of(12, job("l", 0, HOUR, 8, **LOW), job("h", HOUR // 2, HOUR, 8, **HIGH)),
        (1, 1, 1.5, 4 + 8 + 8),
    ),
    "hard: the next job waits for the next day": (
        budget_of(8, job("i", 0, HOUR, 8), job("j", 1, HOUR, 8), enforcement="hard"),
        (2, 2, 1, 8),
    ),
    "nothing runs": (budget_of(8, job("j", 0, HOUR, 9)), (1, 0, None, 0)),
}


@pytest.mark.parametrize(("budget", "parts"), CASES.values(), ids=CASES)
def test_budget_in_a_future(budget: BudgetOutcome, parts: Parts) -> None:
    first = None if budget.first_ms is None else budget.first_ms / HOUR_MS
    assert (budget.periods, budget.used_up, first, budget.used_hours) == pytest.approx(parts)


def test_a_budget_of_a_cohort_counts_all_its_queues() -> None:
    ml = with_budget(
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": "ml"}}, 12
    )
    queues = [queue(name, 4, cohortName="ml") for name in ("a", "b")]
    jobs = [job("i", 0, 2 * HOUR, 4), job("j", 0, HOUR, 4, queue="b")]
    (budget,) = simulated(configured(ml, *queues), *jobs).budgets
    assert (budget.owner, budget.used_hours, budget.first_ms) == ("cohort ml", 12, 2 * HOUR_MS)


def test_forecast_is_the_same_in_processes() -> None:
    configuration = configured(with_budget(queue("a", 8), 8))
    jobs = placed(configuration, [job(f"j{n}", n, HOUR, 4) for n in range(8)])
    inputs = futures.SimulationInputs(configuration, jobs, Assumptions(failures_per_node_hour=0.1))
    alone, parallel = (futures.run(inputs, range(4), processes=n) for n in (1, 2))
    assert [outcome.budgets for outcome in parallel] == [outcome.budgets for outcome in alone]


JOBS = [job("i", 0, HOUR, 8), job("j", HOUR, HOUR, 8)]
NAME = ("ClusterQueue a", GPU, "all", "day")


def sides(*hours: int) -> list[Any]:
    return [[simulated(configured(with_budget(queue("a", 8), of)), *JOBS)] for of in hours]


def test_rows_of_a_plan_have_both_sides() -> None:
    (table,) = budget_tables(budget_forecasts(sides(17, 8)), None)
    assert table.columns[-5:] == ("ENFORCEMENT", "LIMIT", "USED", "USED UP IN", "FIRST USED UP")
    assert list(table.rows) == [
        (*NAME, "before", "hard", "17.0", "16.0", "0 of 1", "-"),
        (*NAME, "after", "hard", "8.0", "8.0", "2 of 2", "1h00m"),
    ]


def test_a_trace_with_a_date_gives_a_date() -> None:
    (table,) = budget_tables(budget_forecasts(sides(8)), 86_400_000)
    assert list(table.rows) == [(*NAME, "hard", "8.0", "8.0", "2 of 2", "1970-01-02T01:00:00Z")]


def test_budget_that_the_change_adds_has_one_row() -> None:
    without = [simulated(configured(queue("a", 8)), *JOBS)]
    (row,) = budget_document(budget_forecasts([without, *sides(8)]))
    assert (row["side"], row["limit_hours"], row["first_used_up_s"]) == ("after", 8, HOUR)


def test_no_table_without_budgets() -> None:
    outcomes = [simulated(configured(queue("a", 8)), *JOBS)]
    assert budget_tables(budget_forecasts([outcomes, outcomes]), None) == []
    assert budget_document(budget_forecasts([outcomes])) == []


def test_first_time_is_the_median_of_the_futures() -> None:
    early, late, never = ([simulated(configured(with_budget(queue("a", 8), of)), *JOBS)] for of in (4, 8, 99))
    (of,) = budget_forecasts([[*early, *late, *never]])
    assert of.first_ms == HOUR_MS
    assert of.used_up == pytest.approx((2 + 2) / 3)
    (of,) = budget_forecasts([[*early, *never, *never]])
    assert of.first_ms is None
