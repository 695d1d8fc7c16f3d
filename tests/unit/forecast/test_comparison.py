"""Differences between two configurations, and limits."""

import pytest

from muster.forecast.limits import ExceededLimit, WaitLimit, exceeded
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
        ExceededLimit("a: 1 jobs never start (before: 0), so no wait is within the limit", by_change=True)
    ]


def test_a_job_that_no_longer_starts_is_listed_with_its_wait_before() -> None:
    jobs = [job("first", 0, 60, 8), job("second", 0, 10, 8)]
    base, changed = (simulated(configured(queue("a", gpus)), *jobs) for gpus in (8, 4))
    sufferers = compare([base] * 2, [changed] * 2).sufferers
    assert [(row.name, row.base_s, row.changed_s) for row in sufferers] == [
        ("first", 0, None),
        ("second", 60, None),
    ]


def test_a_queue_of_one_side_has_a_row() -> None:
    jobs = [job("one", 0, 60, 8), job("two", 0, 10, 8, queue="new")]
    before = simulated(configured(queue("a", 8)), *jobs[:1])
    after = simulated(configured(queue("a", 8), queue("new", 8)), *jobs)
    for sides, expected in (
        (([before], [after]), ("new", "", "", "-", "0s", "-", "-", "0s", "-", "-", "-", "-")),
        (([after], [before]), ("new", "", "", "0s", "-", "-", "0s", "-", "-", "-", "-", "-")),
    ):
        rows = plan_tables(compare(*sides))[0].rows
        assert next(row for row in rows if row[:3] == ("new", "", "")) == expected


def test_groups_are_in_order_of_their_effect_and_unchanged_ones_are_folded() -> None:
    sizes = {"a": 8, "b": 8, "c": 8}
    jobs = [job(f"{name}{n}", 0, 60 * wait, 8, queue=name) for name, wait in WAITS.items() for n in range(2)]
    base = simulated(configured(*(queue(name, 16) for name in sizes)), *jobs)
    changed = simulated(configured(queue("a", 16), queue("b", 8), queue("c", 8)), *jobs)
    table = plan_tables(compare([base], [changed]))[0]
    assert [row[:3] for row in table.rows] == [
        ("all queues", "", ""),
        ("c", "", ""),
        ("c", "", "2-8"),
        ("b", "", ""),
        ("b", "", "2-8"),
    ]
    assert table.title == "Waits before and after (2 groups without a change not shown)"


WAITS = {"a": 1, "b": 1, "c": 5}


def test_waits_do_not_fall_because_a_gang_never_starts_any_more() -> None:
    jobs = [job("small", 0, 100, 4), job("big", 1, 10, 8), job("later", 200, 10, 4)]
    base, changed = (simulated(configured(queue("a", gpus)), *jobs) for gpus in (8, 4))
    differences_by_group = {(d.group, d.statistic): d for d in compare([base], [changed]).differences}
    assert {d.change_s for d in differences_by_group.values()} == {0}
    assert JobGroup("a", size="2-8") in {group for group, _ in differences_by_group}
    alone = compare([base], [simulated(configured(queue("a", 1)), *jobs)])
    assert not alone.differences
    (never,) = (row for row in plan_tables(alone)[0].rows if row[:3] == ("a", "", ""))
    assert never[3:] == ("33s", "-", "-", "1m39s", "-", "-", "-", "-", "0 to 3")


def test_a_band_and_the_agreement_of_futures_are_told() -> None:
    base = [simulated(BASE, *JOBS)] * 3
    changed = [simulated(HALVED, *JOBS), simulated(HALVED, *JOBS), simulated(BASE, *JOBS)]
    difference = next(d for d in compare(base, changed).differences if d.statistic == "p90_s")
    assert (difference.low_s, difference.high_s, difference.agree, difference.futures) == (0, 10, 2, 3)


ABOVE = "a: the p90 wait is 10s (before: 0s); the limit is 9s"
BEFORE_TOO = "a: the p90 wait is 10s (before: 10s); the limit is 9s"
IMPROVED = "a: the p99 wait is 10s (before: 20s); the limit is 9s"
WORSE = "a: the p99 wait is 20s (before: 10s); the limit is 9s"
SLOW = [job("first", 0, 10, 8), job("second", 0, 10, 8), job("third", 0, 10, 8)]
SLOWED = {gpus: simulated(configured(queue("a", gpus)), *SLOW) for gpus in (8, 16)}
LIMITS = {
    "below": (CHANGE, WaitLimit("a", "", "p90", 10), []),
    "above": (CHANGE, WaitLimit("a", "", "p90", 9), [ExceededLimit(ABOVE, by_change=True)]),
    "above in the base by as much": (
        compare([simulated(HALVED, *JOBS)], [simulated(HALVED, *JOBS)]),
        WaitLimit("a", "", "p90", 9),
        [ExceededLimit(BEFORE_TOO, by_change=False)],
    ),
    "above in the base by more": (
        compare([SLOWED[8]], [SLOWED[16]]),
        WaitLimit("a", "", "p99", 9),
        [ExceededLimit(IMPROVED, by_change=False)],
    ),
    "above in the base by less": (
        compare([SLOWED[16]], [SLOWED[8]]),
        WaitLimit("a", "", "p99", 9),
        [ExceededLimit(WORSE, by_change=True)],
    ),
    "of a class that no job has": (CHANGE, WaitLimit("a", "high", "p90", 0), []),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits_are_compared_with_the_changed_side(name: str) -> None:
    comparison, limit, expected = LIMITS[name]
    assert list(exceeded(comparison, [limit])) == expected
