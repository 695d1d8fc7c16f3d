"""Weeks of a trace as the demand of futures."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.forecast import futures
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.demand.resampling import DAY_MS, WEEK_MS, Resampling, resampling
from muster.forecast.futures import SimulationInputs
from muster.forecast.page import ForecastSide
from muster.forecast.page.page import page_text
from muster.forecast.placement import PlacedJob, place
from muster.forecast.report.assumed import PlacedTrace, Remark, remarks
from muster.forecast.results.comparison import compare
from muster.forecast.results.waits import waits_ms
from muster.forecast.traces.trace import Trace, TraceJob
from tests.unit.forecast.builders import AT_ONCE, configured, job, queue

HOUR_S = 3600
DAY_S = 24 * HOUR_S


def daily(days: int, hours: float = 1) -> list[TraceJob]:
    """A job each day at noon, and one at the beginning of the trace."""
    every = [job("first", 0, hours * HOUR_S)]
    return every + [job(f"day-{n}", n * DAY_S + 12 * HOUR_S, hours * HOUR_S) for n in range(days)]


LENGTHS: dict[str, tuple[int, tuple[int, int] | None]] = {
    "three weeks and a bit": (23, (WEEK_MS, 3)),
    "two weeks": (15, (WEEK_MS, 2)),
    "less than two weeks": (13, (DAY_MS, 12)),
    "two days": (3, (DAY_MS, 2)),
    "a day": (2, None),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_blocks_are_weeks_or_else_days(name: str) -> None:
    days, expected = LENGTHS[name]
    blocks = resampling(Trace("trace", daily(days)))
    assert (blocks and (blocks.block_ms, blocks.blocks)) == expected


@pytest.mark.parametrize(
    ("name", "last_h", "expected"),
    [
        ("a window of two weeks", 14 * 24 - 6, (WEEK_MS, 2)),
        ("a week that lacks most of a day", 14 * 24 - 10, (DAY_MS, 13)),
        ("a window of four days", 4 * 24 - 0.5, (DAY_MS, 4)),
        ("a day that lacks two hours", 4 * 24 - 2, (DAY_MS, 3)),
    ],
)
def test_a_last_block_without_its_last_hours_is_complete(
    name: str, last_h: float, expected: tuple[int, int]
) -> None:
    """The last job of a window is submitted before its end."""
    blocks = resampling(Trace(name, [*daily(3), job("last", last_h * HOUR_S, 1)]))
    assert blocks is not None
    assert (blocks.block_ms, blocks.blocks) == expected


def inputs(of: QueueConfiguration, jobs: list[TraceJob]) -> SimulationInputs:
    trace = Trace("trace", jobs)
    return SimulationInputs(of, place(jobs, of).jobs, AT_ONCE, resampling(trace))


def drawn(of: SimulationInputs, seed: int) -> list[PlacedJob]:
    return list(of.jobs_of(seed))


A = configured(queue("a", 8))


@given(st.integers(0, 50))
def test_a_future_has_the_cycle_of_the_trace(seed: int) -> None:
    """As many days, each with a job at noon, in order of submission, and each with another number."""
    future = drawn(inputs(A, daily(24)), seed)
    noons = [job.submit_ms for job in future if job.submit_ms % DAY_MS]
    assert noons == [n * DAY_MS + DAY_MS // 2 for n in range(24)]
    assert [job.submit_ms for job in future] == sorted(job.submit_ms for job in future)
    assert len({job.number for job in future}) == len({job.name for job in future}) == len(future)


def test_every_week_is_drawn_equally_often() -> None:
    of = inputs(A, daily(22))
    sources = Counter(drawn(of, seed)[-1].name.partition("@")[0] for seed in range(300))
    assert set(sources) == {"day-0", "day-7", "day-14"}
    assert min(sources.values()) > 70


def test_jobs_that_are_not_moved_keep_their_names_and_draws() -> None:
    of = inputs(A, daily(22))
    for seed in range(20):
        for future_job in drawn(of, seed):
            original = of.jobs[future_job.number % len(of.jobs)]
            moved = future_job.submit_ms != original.submit_ms
            assert ("@" in future_job.name) == moved
            if not moved:
                assert replace(future_job, number=original.number) == original


def test_futures_differ_and_both_sides_of_a_plan_have_the_same() -> None:
    bursts = [job(f"{week}-{n}", week * 7 * DAY_S, HOUR_S) for week in range(4) for n in range(1 + 4 * week)]
    sides = [inputs(configured(queue("a", gpus)), [*bursts, job("end", 28 * DAY_S, 1)]) for gpus in (4, 2)]
    assert futures.is_random(sides[0])
    before, after = (futures.run(side, range(10), processes=1) for side in sides)
    assert len({tuple(waits_ms(outcome)) for outcome in before}) > 3
    pairs = list(zip(before, after, strict=True))
    assert all([job.name for job in b.jobs] == [job.name for job in a.jobs] for b, a in pairs)
    comparison = compare(before, after)
    assert comparison.sufferers
    overall = next(d for d in comparison.differences if d.statistic == "mean_s")
    assert overall.low_s < overall.high_s
    names = [ForecastSide("before", before), ForecastSide("after", after)]
    assert "Most delayed jobs" in page_text(names)


def test_worker_processes_draw_the_same_jobs() -> None:
    of = inputs(A, daily(22, hours=40))
    alone, shared = (futures.run(of, range(4), processes=count) for count in (1, 2))
    assert [outcome.jobs for outcome in alone] == [outcome.jobs for outcome in shared]
    assert [waits_ms(outcome) for outcome in alone] == [waits_ms(outcome) for outcome in shared]


def test_the_resampling_is_among_the_assumptions() -> None:
    jobs = daily(10)
    remark, *_ = remarks(Trace("trace", jobs), [PlacedTrace(inputs(A, jobs), {})])
    assert remark == Remark(
        "each future is drawn from 9 days of the trace, with repetitions, so that ranges include demand; "
        "the trace is too short for weeks"
    )
    assert "weeks of the trace" in Resampling(WEEK_MS, 3, 3 * WEEK_MS, 1).described
