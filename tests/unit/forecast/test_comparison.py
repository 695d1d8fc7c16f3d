"""Differences between two configurations, and limits."""

import pytest

from muster.forecast.limits import WaitLimit, exceeded
from muster.forecast.report.tables import plan_tables
from muster.forecast.results.comparison import compare
from muster.forecast.results.waits import JobGroup
from tests.unit.forecast.builders import configured, job, queue, simulated

JOBS = [job("one", 0, 10, 8), job("two", 0, 10, 4), job("three", 0, 10, 4)]
BASE, HALVED = configured(queue("a", 16)), configured(queue("a", 8))
CHANGE = compare([simulated(BASE, *JOBS)], [simulated(HALVED, *JOBS)])


def test_less_quota_makes_jobs_wait() -> None:
    mean = next(d for d in CHANGE.differences if (d.group, d.statistic) == (JobGroup("a"), "mean_s"))
    assert (mean.base_s, round(mean.changed_s, 2), mean.agree, mean.futures) == (0, 6.67, 1, 1)
    assert mean.change_s == mean.changed_s


def test_the_jobs_that_suffer_most_come_first() -> None:
    assert [(sufferer.name, sufferer.base_s, sufferer.changed_s) for sufferer in CHANGE.sufferers] == [
        ("two", 0, 10),
        ("three", 0, 10),
    ]


def test_a_job_that_never_starts_any_more_suffers_most() -> None:
    smaller = simulated(configured(queue("a", 4)), *JOBS)
    comparison = compare([simulated(BASE, *JOBS)], [smaller])
    assert [(sufferer.name, sufferer.changed_s) for sufferer in comparison.sufferers] == [
        ("one", None),
        ("three", 10),
    ]
    assert comparison.never[JobGroup("a")] == (0, 1)
    limit = WaitLimit("a", "", "p90", 1000)
    assert list(exceeded(comparison, [limit])) == [
        "a: 1 jobs never start (before: 0), so no wait is within the limit"
    ]


def test_waits_do_not_fall_because_a_gang_never_starts_any_more() -> None:
    jobs = [job("small", 0, 100, 4), job("big", 1, 10, 8), job("later", 200, 10, 4)]
    base, changed = (simulated(configured(queue("a", gpus)), *jobs) for gpus in (8, 4))
    differences_by_group = {(d.group, d.statistic): d for d in compare([base], [changed]).differences}
    assert {d.change_s for d in differences_by_group.values()} == {0}
    assert JobGroup("a", size="2-8") in {group for group, _ in differences_by_group}
    alone = compare([base], [simulated(configured(queue("a", 1)), *jobs)])
    assert not alone.differences
    (never,) = (row for row in plan_tables(alone)[0].rows if row[:3] == ("a", "", ""))
    assert never[3:] == (*"--------", "0 to 3")


def test_a_band_and_the_agreement_of_futures_are_told() -> None:
    base = [simulated(BASE, *JOBS)] * 3
    changed = [simulated(HALVED, *JOBS), simulated(HALVED, *JOBS), simulated(BASE, *JOBS)]
    difference = next(d for d in compare(base, changed).differences if d.statistic == "p90_s")
    assert (difference.low_s, difference.high_s, difference.agree, difference.futures) == (0, 10, 2, 3)


LIMITS = {
    "below": (WaitLimit("a", "", "p90", 10), []),
    "above": (
        WaitLimit("a", "", "p90", 9),
        ["a: the p90 wait is 10s (before: 0s); the limit is 9s"],
    ),
    "of a class that no job has": (WaitLimit("a", "high", "p90", 0), []),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits_are_compared_with_the_changed_side(name: str) -> None:
    limit, expected = LIMITS[name]
    assert list(exceeded(CHANGE, [limit])) == expected
