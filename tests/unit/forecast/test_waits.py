"""Statistics of waits, by group."""

import pytest

from muster.forecast.page.most_delayed import longest_waits
from muster.forecast.recommend.goals import measured, parse_goal
from muster.forecast.report.tables import totals
from muster.forecast.results.outcome import SimulatedJob
from muster.forecast.results.waits import (
    JobGroup,
    in_order,
    never_started,
    quantile,
    size_of,
    statistics,
    waits_by_group,
)
from muster.forecast.results.waits import cancelled as cancelled_jobs
from tests.unit.forecast.builders import cancelled, configured, job, priority, queue, simulated

SIZES = {0: "CPU", 1: "1", 2: "2-8", 8: "2-8", 9: "9-16", 64: "33-64", 256: "129-256", 257: ">256"}


@pytest.mark.parametrize(("accelerators", "expected"), SIZES.items())
def test_a_gang_is_in_a_group_of_sizes(accelerators: int, expected: str) -> None:
    assert size_of(SimulatedJob("one", 0, "a", "", "", 1, accelerators)) == expected


QUANTILES = {
    "the median of one": ([5.0], 0.5, 5.0),
    "the median of two is the lower": ([1.0, 2.0], 0.5, 1.0),
    "nine of ten": ([float(n) for n in range(1, 11)], 0.9, 9.0),
    "99% of ten is the largest": ([float(n) for n in range(1, 11)], 0.99, 10.0),
}


@pytest.mark.parametrize("name", QUANTILES)
def test_a_quantile_is_a_value_that_occurs(name: str) -> None:
    ordered, share, expected = QUANTILES[name]
    assert quantile(ordered, share) == expected


def test_jobs_that_never_start_are_counted_apart() -> None:
    waits = statistics([1000, None, 3000])
    assert (waits.count, waits.never, waits.mean_s, waits.max_s) == (2, 1, 2, 3)
    assert statistics([None]).never == 1


def test_jobs_that_are_cancelled_before_they_start_have_no_wait() -> None:
    jobs = [job("runs", 0, 60, 8), cancelled("leaves", 1, 10, gpus=8), job("huge", 2, 60, 16)]
    outcome = simulated(configured(queue("a", 8)), *jobs)
    waits = waits_by_group(outcome)[JobGroup("a")]
    assert (waits.count, waits.never, never_started(outcome), cancelled_jobs(outcome)) == (1, 1, 1, 1)
    assert totals([outcome]).endswith("; 1 cancelled before their start; 1 never start")
    assert [(late.job.name, late.waits_s) for late in longest_waits(outcome)] == [
        ("huge", (58,)),
        ("leaves", (10,)),
    ]
    assert measured(outcome, [parse_goal("a p50 <= 1h")]).never == 1


def test_waits_are_grouped_by_queue_class_and_size() -> None:
    outcome = simulated(
        configured(queue("a", 8), queue("b", 8), priority("high", 10)),
        job("one", 0, 10, 8, priority_class="high"),
        job("two", 0, 10, 8, priority_class="high"),
        job("three", 0, 10, 1, queue="b"),
    )
    grouped = waits_by_group(outcome)
    assert {group: (waits.count, waits.mean_s) for group, waits in grouped.items()} == {
        JobGroup(): (3, 10 / 3),
        JobGroup("a"): (2, 5),
        JobGroup("a", "high"): (2, 5),
        JobGroup("a", size="2-8"): (2, 5),
        JobGroup("b"): (1, 0),
        JobGroup("b", size="1"): (1, 0),
    }


def test_groups_are_listed_from_the_whole_to_its_parts() -> None:
    groups = [
        JobGroup("a", size="17-32"),
        JobGroup("a", size="2-8"),
        JobGroup("a", "low"),
        JobGroup("a"),
        JobGroup(),
    ]
    assert in_order(groups) == [
        JobGroup(),
        JobGroup("a"),
        JobGroup("a", "low"),
        JobGroup("a", size="2-8"),
        groups[0],
    ]
