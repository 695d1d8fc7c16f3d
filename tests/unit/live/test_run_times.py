"""Run times of live workloads, given that they have already run for some time."""

from random import Random

import pytest

from muster.forecast.placement import PlacedJob
from muster.live.run_times import RunTimeHistory, RunTimeSource, general_ms

MINUTE_MS = 60_000


def past(minutes: float, user: str = "ann", queue: str = "a", name: str = "low", gpus: int = 1) -> PlacedJob:
    return PlacedJob(
        name="past",
        submit_ms=0,
        queue=queue,
        priority_class=name,
        user=user,
        pods=1,
        accelerators=gpus,
        run_ms=round(minutes * MINUTE_MS),
        priority=0,
        pod_sets=(),
    )


SAME = [past(m) for m in (1, 2, 3, 4, 5)]
SAME_USER = [past(m, gpus=8) for m in (11, 12, 13, 14, 15)]
SAME_QUEUE = [past(m, user="bob", name="high") for m in (21, 22, 23, 24, 25)]
ELSEWHERE = [past(m, user="bob", queue="b") for m in (31, 32)]

CASES: dict[str, tuple[list[PlacedJob], float, set[int]]] = {
    "the same user's of the same size": ([*SAME, *SAME_USER, *SAME_QUEUE], 0, {1, 2, 3, 4, 5}),
    "too few of them: all of the user": ([*SAME[:4], *SAME_USER], 0, {1, 2, 3, 4, 11, 12, 13, 14, 15}),
    "only jobs that ran for longer": ([*SAME, *SAME_USER], 12, {13, 14, 15}),
    "none of the user ran for that long": ([*SAME, *SAME_QUEUE], 10, {21, 22, 23, 24, 25}),
    "few in the cluster are better than none": ([*SAME, *ELSEWHERE], 10, {31, 32}),
}


@pytest.mark.parametrize("name", CASES)
def test_run_times_are_drawn_from_similar_jobs(name: str) -> None:
    jobs, ran, expected = CASES[name]
    history = RunTimeHistory(jobs)
    drawn = {history.drawn_ms(past(0), round(ran * MINUTE_MS), Random(seed)) for seed in range(300)}
    assert drawn == {(minutes * MINUTE_MS, RunTimeSource.SIMILAR) for minutes in expected}


@pytest.mark.parametrize("jobs", [[], SAME], ids=["no history", "none ran for that long"])
def test_run_times_without_similar_jobs_come_from_the_published_distribution(jobs: list[PlacedJob]) -> None:
    drawn_ms, source = RunTimeHistory(jobs).drawn_ms(past(0), 10 * MINUTE_MS, Random(0))
    assert source is RunTimeSource.GENERAL
    assert drawn_ms > 10 * MINUTE_MS


def test_published_distribution_has_its_median_and_its_tail() -> None:
    drawn_s = sorted(general_ms(0, Random(seed)) / 1000 for seed in range(2_000))
    assert 550 < drawn_s[1_000] < 820  # exp(6.51) = 672 s
    assert 5_000 < drawn_s[1_800] < 9_000  # exp(6.51 + 1.28 * 1.78) = 6,570 s


@pytest.mark.parametrize("ran_ms", [1, 1_000, 3_600_000, 30 * 86_400_000, 10 * 365 * 86_400_000])
def test_a_drawn_run_time_is_longer_than_the_run_so_far(ran_ms: int) -> None:
    assert all(general_ms(ran_ms, Random(seed)) > ran_ms for seed in range(100))


def test_the_longer_it_has_run_the_longer_it_will() -> None:
    remaining = [
        sorted(general_ms(ran_ms, Random(seed)) - ran_ms for seed in range(200))[100]
        for ran_ms in (0, 3_600_000, 36_000_000)
    ]
    assert remaining == sorted(remaining)
