"""Lessons of past jobs: run times, delays, cancellations and later submissions."""

from dataclasses import dataclass, replace
from random import Random

import pytest

from muster.forecast.learning.arrivals import ARRIVALS_MAX, JOBS_MIN, Arrivals
from muster.forecast.learning.cancellations import Cancellations
from muster.forecast.learning.delays import UNLEARNED_START_UP, Delay, learned_delays
from muster.forecast.learning.past_job import PastJob
from muster.forecast.learning.run_times import RunTimes, RunTimeSource
from muster.forecast.learning.trace_assumptions import DELAYS_MIN, trace_assumptions
from muster.forecast.placement import PlacedJob
from muster.forecast.traces.trace import TraceJob

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
DRAWS = 400


def job(
    run_minutes: float | None = None,
    user: str = "ann",
    queue: str = "a",
    name: str = "low",
    gpus: int = 1,
    submit_ms: int = 0,
) -> PlacedJob:
    return PlacedJob(
        name="job",
        submit_ms=submit_ms,
        queue=queue,
        priority_class=name,
        user=user,
        pods=1,
        accelerators=gpus,
        run_ms=None if run_minutes is None else round(run_minutes * MINUTE_MS),
        priority=0,
        pod_sets=(),
    )


def past(count: int, run_minutes: float, limit_minutes: float | None = None, **of: object) -> list[PastJob]:
    limit_ms = None if limit_minutes is None else round(limit_minutes * MINUTE_MS)
    return [PastJob(job(run_minutes, **of), limit_ms) for _ in range(count)]  # type: ignore[arg-type]


def quantiles(
    history: list[PastJob], ran_minutes: float = 0, limit_minutes: float | None = None
) -> tuple[float, float, float]:
    """Returns the 10th, 50th and 90th percentile of the run time of Ann's job, in minutes."""
    run_times = RunTimes(history)
    limit_ms = None if limit_minutes is None else round(limit_minutes * MINUTE_MS)
    drawn = sorted(
        run_times.in_future(seed).drawn_ms(job(), limit_ms, round(ran_minutes * MINUTE_MS), Random(seed))
        for seed in range(DRAWS)
    )
    low, middle, high = (drawn[round(share * DRAWS)] / MINUTE_MS for share in (0.1, 0.5, 0.9))
    return low, middle, high


@dataclass(frozen=True)
class Case:
    """Past jobs, and bounds of a prediction in minutes."""

    history: list[PastJob]
    median: tuple[float, float]
    width: tuple[float, float]  # p90 / p10
    ran_minutes: float = 0
    limit_minutes: float | None = None


CASES: dict[str, Case] = {
    "nothing was learned": Case([], (3, 40), (300, 10_000)),
    "many jobs of the user": Case(past(50, 20), (17, 23), (1.3, 4)),
    "few jobs of the user": Case(past(3, 20), (12, 30), (4, 1_000)),
    "a single job": Case(past(1, 20), (5, 60), (50, 10_000)),
    "the user's jobs count before the queue's": Case(
        [*past(30, 20), *past(200, 200, user="bob")], (15, 30), (1, 8)
    ),
    "jobs of the size count before the user's others": Case(
        [*past(30, 20), *past(200, 200, gpus=8)], (15, 30), (1, 8)
    ),
    "a new user's jobs are like the queue's": Case(past(100, 20, user="bob"), (16, 25), (1.3, 4)),
    "only jobs that ran longer": Case([*past(50, 20), *past(50, 200)], (170, 240), (1, 4), ran_minutes=60),
    "a limit is an upper bound": Case([], (20, 60), (3, 40), limit_minutes=80),
    "a share of the limit is learned": Case(
        [shorter for n in range(1, 51) for shorter in past(1, 5 * n, 10 * n)], (36, 44), (1.1, 3), 0, 80
    ),
    "limits that say nothing are ignored": Case(
        [equal for n in range(50) for equal in past(1, 20, 40 + 20 * (n % 40) ** 2)],
        (16, 24),
        (1.1, 3),
        0,
        10_000,
    ),
    "a limit that was exceeded ends the run": Case(past(50, 20), (100, 100), (1, 1), 100, 80),
}


@pytest.mark.parametrize("name", CASES)
def test_run_times_of_jobs_that_have_not_ended(name: str) -> None:
    case = CASES[name]
    low, median, high = quantiles(case.history, case.ran_minutes, case.limit_minutes)
    assert case.median[0] <= median <= case.median[1]
    assert case.width[0] <= high / low <= case.width[1]
    assert low >= case.ran_minutes
    assert case.limit_minutes is None or high <= max(case.limit_minutes, case.ran_minutes)


def running(count: int, ran_minutes: float, **of: object) -> list[PastJob]:
    """Jobs that have run for this time."""
    jobs = past(count, ran_minutes, **of)  # type: ignore[arg-type]
    return [replace(p, job=replace(p.job, run_ms=None), ran_ms=p.job.run_ms) for p in jobs]


def test_jobs_that_still_run_are_no_samples() -> None:
    assert quantiles([*past(20, 20), *running(20, 200)]) == quantiles(past(20, 20))


SOURCES: dict[str, tuple[list[PastJob], int | None, RunTimeSource]] = {
    "nothing": ([], None, RunTimeSource.GENERAL),
    "only a limit": ([], HOUR_MS, RunTimeSource.LIMITED),
    "a single job": (past(1, 20), None, RunTimeSource.GENERAL),
    "many": (past(50, 20), None, RunTimeSource.LEARNED),
    "many, but all shorter": (past(50, 5), None, RunTimeSource.GENERAL),
}


@pytest.mark.parametrize("name", SOURCES)
def test_source_of_run_times_says_whether_they_were_learned(name: str) -> None:
    history, limit_ms, source = SOURCES[name]
    ran_ms = 10 * MINUTE_MS if "shorter" in name else 0
    assert RunTimes(history).source(job(), limit_ms, ran_ms) is source


@pytest.mark.parametrize("ran_ms", [1, 1_000, HOUR_MS, 30 * DAY_MS, 3650 * DAY_MS])
@pytest.mark.parametrize("history", [[], past(50, 20)], ids=["no history", "short jobs"])
def test_a_run_time_is_longer_than_the_run_so_far(ran_ms: int, history: list[PastJob]) -> None:
    run_times = RunTimes(history)
    assert all(
        run_times.in_future(seed).drawn_ms(job(), None, ran_ms, Random(seed)) > ran_ms for seed in range(50)
    )


def test_a_draw_depends_only_on_its_future_and_job() -> None:
    run_times = RunTimes(past(50, 20))
    alone = run_times.in_future(3).drawn_ms(job(), None, 0, Random(1))
    future = run_times.in_future(3)
    future.drawn_ms(job(user="bob"), None, 0, Random(2))
    assert future.drawn_ms(job(), None, 0, Random(1)) == alone


def started_in(seconds: float, queue: str = "a") -> PastJob:
    return PastJob(job(queue=queue), start_up_ms=round(1000 * seconds))


def test_delays_are_learned_by_queue_and_narrow_with_their_number() -> None:
    few = learned_delays([started_in(100)]).start_up
    many = learned_delays([*[started_in(100)] * 50, *[started_in(5, "b")] * 50]).start_up
    assert few is not None
    assert many is not None
    assert few.of("a").range_s[1] / few.of("a").range_s[0] > many.of("a").range_s[1] / many.of("a").range_s[0]
    assert 90 < many.of("a").median_s < 110
    assert 4 < many.of("b").median_s < 8
    assert learned_delays([]).start_up == UNLEARNED_START_UP


def test_a_delay_that_has_passed_in_part_is_longer_than_that_part() -> None:
    delay = Delay(10, 1.0)
    drawn = sorted(delay.drawn_ms(Random(seed), 0.0, 60_000) for seed in range(DRAWS))
    assert drawn[0] >= 60_000
    assert drawn[-1] > 120_000
    assert Delay(10, 0.0).drawn_ms(Random(0), 0.0) == 10_000


def test_delays_that_a_user_sets_are_as_assumed() -> None:
    delays = learned_delays([started_in(100)])
    assert delays.without({"start_up_s"}) == replace(delays, start_up=None)
    assert delays.without({"provisioning_median_s"}) == replace(delays, provisioning=None)


def waited(minutes: float, *, cancelled: bool) -> PastJob:
    wait_ms = round(minutes * MINUTE_MS)
    if cancelled:
        return PastJob(replace(job(), cancelled_ms=wait_ms))
    return PastJob(job(10), waited_ms=wait_ms)


def still_waits(minutes: float) -> PastJob:
    return PastJob(job(), waiting_ms=round(minutes * MINUTE_MS))


@pytest.mark.parametrize(
    ("waits", "waited_minutes", "share"),
    [
        ([waited(5, cancelled=False)] * 40, 0, 0.0),
        ([waited(5, cancelled=True)] * 10 + [waited(9, cancelled=False)] * 30, 0, 0.25),
        ([waited(5, cancelled=True)] * 10 + [waited(1, cancelled=False)] * 30, 0, 1.0),
        ([waited(5, cancelled=True)] * 10 + [waited(9, cancelled=False)] * 30, 6, 0.0),
        ([waited(5, cancelled=True)] * 10 + [still_waits(9)] * 30, 0, 0.25),
        ([waited(5, cancelled=True)] * 10 + [still_waits(1)] * 30, 0, 1.0),
    ],
    ids=[
        "none",
        "a quarter",
        "all that waited for so long",
        "it has waited for longer",
        "the others still wait",
        "the others have not waited for so long",
    ],
)
def test_share_of_jobs_that_are_cancelled(waits: list[PastJob], waited_minutes: float, share: float) -> None:
    cancellations = Cancellations(waits)
    drawn = [
        cancellations.drawn_ms("a", round(waited_minutes * MINUTE_MS), Random(seed)) for seed in range(DRAWS)
    ]
    assert sum(wait_ms is not None for wait_ms in drawn) / DRAWS == pytest.approx(share, abs=0.08)
    assert {wait_ms for wait_ms in drawn if wait_ms is not None} <= {5 * MINUTE_MS}


def test_submissions_repeat_a_part_of_the_past_at_the_same_time_of_the_day() -> None:
    """Jobs are submitted every ten minutes at night, and every hour at day."""
    times = [
        day * DAY_MS + hour * HOUR_MS + minute * MINUTE_MS
        for day in range(4)
        for hour in range(24)
        for minute in ((0, 10, 20, 30, 40, 50) if hour < 6 else (0,))
    ]
    arrivals = Arrivals(PastJob(job(1, submit_ms=at_ms)) for at_ms in times)
    for seed in range(20):
        drawn = arrivals.drawn(10 * DAY_MS, Random(seed))
        assert sum(after_ms < HOUR_MS for _, after_ms in drawn) == 6
        assert [after_ms for _, after_ms in drawn] == sorted(after_ms for _, after_ms in drawn)


def test_submissions_are_repeated_until_an_end() -> None:
    """24 of a day, for ten days."""
    arrivals = Arrivals(PastJob(job(1, submit_ms=n * HOUR_MS)) for n in range(2 * 24 + 1))
    for seed in range(5):
        drawn = arrivals.drawn(10 * DAY_MS, Random(seed), 20 * DAY_MS)
        times_ms = [after_ms for _, after_ms in drawn]
        assert times_ms == [n * HOUR_MS for n in range(10 * 24)]


def test_submissions_go_on_after_the_end_of_a_short_past() -> None:
    arrivals = Arrivals(PastJob(job(1, submit_ms=n * MINUTE_MS)) for n in range(10))
    times_ms = [after_ms for _, after_ms in arrivals.drawn(HOUR_MS, Random(0))]
    assert len(times_ms) == ARRIVALS_MAX
    assert times_ms[-1] == pytest.approx(ARRIVALS_MAX * MINUTE_MS, rel=0.1)


def test_rate_of_submissions_is_less_certain_with_fewer_past_jobs() -> None:
    spreads = []
    for count in (0, 10, 1_000):
        arrivals = Arrivals(PastJob(job(1, submit_ms=n * MINUTE_MS)) for n in range(count))
        rates = [arrivals.rate_of_future(seed) for seed in range(200)]
        spreads.append(max(rates) / min(rates))
    assert spreads[0] == 1 < spreads[2] < spreads[1]


def test_few_jobs_say_nothing_about_later_submissions() -> None:
    arrivals = Arrivals(PastJob(job(1, submit_ms=n * MINUTE_MS)) for n in range(JOBS_MIN - 1))
    assert arrivals.drawn(DAY_MS, Random(0)) == []
    assert arrivals.count == 0


def recorded(start_up_s: float, provisioning_s: float | None = None) -> TraceJob:
    provisioning_ms = None if provisioning_s is None else round(1000 * provisioning_s)
    return TraceJob("j", 0, 1, 1, {}, start_up_ms=round(1000 * start_up_s), provisioning_ms=provisioning_ms)


TRACES: dict[str, tuple[list[TraceJob], dict[str, float]]] = {
    "no delays": ([TraceJob("j", 0, 1, 1, {})] * 20, {}),
    "few delays": ([recorded(8, 100)] * (DELAYS_MIN - 1), {}),
    "start-up": ([recorded(8), recorded(12)] * 5, {"start_up_s": 10}),
    "provisioning": (
        [recorded(8, 100), recorded(8, 400)] * 5,
        {"start_up_s": 8, "provisioning_median_s": 250, "provisioning_spread": 0.69},
    ),
}


@pytest.mark.parametrize("name", TRACES)
def test_delays_that_a_trace_records_are_assumptions_of_its_forecast(name: str) -> None:
    jobs, assumptions = TRACES[name]
    assert trace_assumptions(jobs) == assumptions
