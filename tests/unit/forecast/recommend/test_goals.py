"""Goals: their syntax, and what one future says about them."""

from math import inf

import pytest

from muster.forecast.limits import WaitLimit
from muster.forecast.recommend.errors import RecommendError
from muster.forecast.recommend.goals import check_goals, excess, measured, parse_goal, written
from tests.unit.forecast.builders import configured, job, placed, priority, queue, simulated

GOALS = {
    "a queue": ("inference p90 <= 10m", WaitLimit("inference", "", "p90", 600)),
    "a queue and class": ("inference high mean <= 90s", WaitLimit("inference", "high", "mean", 90)),
    "all jobs": ("p50 <= 1h30m", WaitLimit("", "", "p50", 5400)),
    "no blanks": ("a p99<=0.5h", WaitLimit("a", "", "p99", 1800)),
    "the 95th percentile": ("a p95 <= 10m", WaitLimit("a", "", "p95", 600)),
    "a service level": ("a high within 10m >= 95%", WaitLimit("a", "high", "within", 600, 0.95)),
    "a service level of all": ("within 1h>=99.5%", WaitLimit("", "", "within", 3600, 0.995)),
    "a queue called as a statistic": ("p90 p50 <= 1d", WaitLimit("p90", "", "p50", 86400)),
}
BAD_GOALS = {
    "another comparison": ("a p90 < 10m", "expected"),
    "an unknown statistic": ("a p80 <= 10m", "mean|p50|p90|p95|p99 <= TIME"),
    "three names": ("a b c p90 <= 10m", "expected"),
    "no unit": ("a p90 <= 10", "'10' is not a duration; expected one such as 90s"),
    "text after the time": ("a p90 <= 10mm", "is not a duration"),
    "nothing": ("", "expected"),
    "no percent sign": ("a within 10m >= 95", "within TIME >= PERCENT%"),
    "a share of 0": ("a within 10m >= 0%", "expected more than 0% and at most 100%"),
    "more than all": ("a within 10m >= 101%", "expected more than 0% and at most 100%"),
}


@pytest.mark.parametrize("name", GOALS)
def test_a_goal_is_read(name: str) -> None:
    text, expected = GOALS[name]
    assert parse_goal(text) == expected
    assert parse_goal(written(expected).removeprefix("all ")) == expected


@pytest.mark.parametrize("name", BAD_GOALS)
def test_a_bad_goal_says_what_is_expected(name: str) -> None:
    text, expected = BAD_GOALS[name]
    with pytest.raises(RecommendError, match=expected.replace("|", r"\|")):
        parse_goal(text)


def test_a_goal_about_no_job_is_refused() -> None:
    jobs = placed(configured(queue("a", 1), priority("high", 1)), [job("one", 0, 1, priority_class="high")])
    for text, expected in {
        "b p90 <= 1m": "queue 'b' is unknown; expected one of: a, idle",
        "idle p90 <= 1m": "the trace has no such job",
        "a low p90 <= 1m": "such as a high",
    }.items():
        with pytest.raises(RecommendError, match=expected):
            check_goals([parse_goal(text)], jobs, ["a", "idle"])
    check_goals([parse_goal("a high p90 <= 1m"), parse_goal("p90 <= 1m")], jobs, ["a", "idle"])


def test_a_job_that_never_starts_waits_without_end() -> None:
    outcome = simulated(configured(queue("a", 1)), *(job(f"{n}", 0, 10, gpus=1 + n // 9) for n in range(10)))
    limits = [parse_goal(f"a {statistic} <= 1m") for statistic in ("p50", "p90", "p99", "mean")]
    wait = measured(outcome, limits)
    assert wait.values == (40, 80, inf, inf)
    assert (wait.wait_s, wait.never) == (40, 1)


def test_a_goal_counts_the_jobs_of_its_queue_and_class() -> None:
    jobs = [job("one", 0, 100), job("two", 0, 100, priority_class="low"), job("three", 0, 5, queue="b")]
    outcome = simulated(configured(queue("a", 1), queue("b", 1)), *jobs)
    limits = [parse_goal(f"{names} mean <= 1m") for names in ("a low", "a", "b", "")]
    assert measured(outcome, limits).values == (100, 50, 0, 100 / 3)


def test_an_excess_is_a_share_of_the_limit() -> None:
    goal = parse_goal("a p90 <= 10m")
    assert [excess(value, goal) for value in (0, 600, 900, inf)] == [0, 0, 0.5, inf]
