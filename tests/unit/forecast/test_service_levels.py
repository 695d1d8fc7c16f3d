"""Service levels: shares of jobs that start in time, as statistic and as limit."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from muster.forecast.limits import WITHIN, ExceededLimit, WaitLimit, exceeded
from muster.forecast.recommend.goals import Measured, excess, measured, parse_goal
from muster.forecast.report.service_levels import (
    level_tables,
    levels_document,
    levels_of_limits,
    levels_within,
    times,
)
from muster.forecast.results.comparison import compare
from muster.forecast.results.outcome import SimulationOutcome
from muster.forecast.results.service_levels import LevelKey, by_group, by_month, service_levels
from muster.forecast.results.waits import JobGroup
from tests.unit.forecast.builders import cancelled, configured, job, queue, simulated

DAY_S = 86_400
ALL_JOBS, A = LevelKey(JobGroup()), LevelKey(JobGroup("a"))


def of_gpus(gpus: int, count: int = 10) -> SimulationOutcome:
    """Jobs of 60 s, of which as many run at the same time as there are GPUs."""
    return simulated(configured(queue("a", gpus)), *(job(f"{n}", 0, 60) for n in range(count)))


@dataclass(frozen=True)
class Case:
    outcomes: Sequence[SimulationOutcome]
    within_s: float
    jobs: float
    share: float
    low: float
    high: float


CASES = {
    "a wait of the whole time is in time": Case([of_gpus(1)], 60, 10, 0.2, 0.2, 0.2),
    "all": Case([of_gpus(10)], 0, 10, 1, 1, 1),
    "none": Case([simulated(configured(queue("a", 1)), job("wide", 0, 1, 2))], 9e9, 1, 0, 0, 0),
    "means and ranges of futures": Case([of_gpus(1), of_gpus(2), of_gpus(10)], 0, 10, 1.3 / 3, 0.1, 1),
    "cancelled jobs are omitted": Case(
        [simulated(configured(queue("a", 1)), job("one", 0, 60), cancelled("two", 0, 5))], 60, 1, 1, 1, 1
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_level_is_the_share_of_jobs_that_start_in_time(name: str) -> None:
    case = CASES[name]
    for key in (ALL_JOBS, A):
        level = service_levels(case.outcomes, case.within_s, by_group)[key]
        assert (level.jobs, level.low, level.high) == (case.jobs, case.low, case.high)
        assert level.share == pytest.approx(case.share)


def test_levels_are_counted_by_the_month_of_the_submission() -> None:
    outcome = simulated(
        configured(queue("a", 1)), *(job(f"{n}", at_s, 60) for n, at_s in enumerate((0, 0, 20 * DAY_S)))
    )
    begins_ms = round(datetime(2026, 2, 20, tzinfo=UTC).timestamp() * 1000)
    for begins, months in ((begins_ms, ["2026-02", "2026-03"]), (None, ["days 001-030"])):
        levels = service_levels([outcome], 0, by_month(begins))
        assert [key.month for key in levels if key.group == JobGroup("a")] == months
    dated = service_levels([outcome], 0, by_month(begins_ms))
    assert [dated[LevelKey(JobGroup("a"), month)].share for month in ("2026-02", "2026-03")] == [0.5, 1]


def test_tables_have_both_sides_of_a_plan() -> None:
    every = levels_within([[of_gpus(10)], [of_gpus(1)]], [60, 3600], None)
    groups, months = level_tables(every)
    assert groups.columns == (
        *("QUEUE", "CLASS", "JOBS", "WITHIN 1m00s", "AFTER", "CHANGE", "WITHIN 1h00m", "AFTER", "CHANGE"),
    )
    assert groups.rows[1] == ("a", "", "10", "100.0%", "20.0%", "-80.0", "100.0%", "100.0%", "0.0")
    assert months.rows[1][:4] == ("a", "days 001-030", "10", "100.0%")
    assert [row["share"] for row in levels_document(every) if row["within_s"] == 60] == [
        *[1, 1, 1],
        *[0.2] * 3,
        *[1, 1],
        *[0.2] * 2,
    ]


def test_a_forecast_shows_ranges_and_no_table_without_times() -> None:
    groups, _ = level_tables(levels_within([[of_gpus(1), of_gpus(10)]], [0], None))
    assert groups.rows[0] == ("all queues", "", "10", "55.0%", "10.0% to 100.0%")
    assert level_tables([]) == []


def test_a_group_of_one_side_has_no_change() -> None:
    other = simulated(configured(queue("b", 1)), job("one", 0, 1, queue="b"))
    groups, _ = level_tables(levels_within([[of_gpus(10)], [other]], [60], None))
    assert groups.rows[1:] == [
        ("a", "", "10 to -", "100.0%", "-", "-"),
        ("b", "", "- to 1", "-", "100.0%", "-"),
    ]


LIMIT = WaitLimit("a", "", WITHIN, 60, 0.95)
TEXT = "a: 20.0% of the jobs start within 1m00s (before: {}); the limit is 95.0%"
LIMITS = {
    "met": (of_gpus(1), of_gpus(10), []),
    "exceeded": (of_gpus(10), of_gpus(1), [ExceededLimit(TEXT.format("100.0%"), by_change=True)]),
    "exceeded before": (of_gpus(1), of_gpus(1), [ExceededLimit(TEXT.format("20.0%"), by_change=False)]),
    "a new queue": (
        simulated(configured(queue("b", 1)), job("one", 0, 1, queue="b")),
        of_gpus(1),
        [ExceededLimit(TEXT.format("no jobs"), by_change=True)],
    ),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_is_a_least_share(name: str) -> None:
    before, after, expected = LIMITS[name]
    every = levels_within([[before], [after]], times([LIMIT], [5]), None)
    assert [levels.within_s for levels in every] == [5, 60]
    levels = levels_of_limits(every, [LIMIT])
    assert list(exceeded(compare([before], [after]), [LIMIT], levels)) == expected


def test_a_share_that_equals_the_limit_meets_it() -> None:
    goal = WaitLimit("a", "", WITHIN, 0, 0.9)
    assert not goal.is_exceeded_by(1 - 0.9)
    assert goal.is_exceeded_by(0.101)


def test_goals_are_met_by_shares() -> None:
    goal = parse_goal("a within 1m >= 95%")
    assert goal == LIMIT
    value = measured(of_gpus(1), [goal])
    assert value == Measured((0.8,), measured(of_gpus(1), []).wait_s, 0)
    assert excess(0.8, goal) == pytest.approx(0.75)
    assert excess(0.05, goal) == 0
