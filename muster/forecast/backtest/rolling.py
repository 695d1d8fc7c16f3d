"""Rolling backtests: the starts of each period are estimated from the records of earlier periods.

The futures are simulated in several processes; then their quantiles are corrected by the errors of the
estimates of earlier periods."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from muster.forecast.assumptions import Assumptions
from muster.forecast.backtest.moment import jobs_until, key_of, moment
from muster.forecast.backtest.past_run import PastRun
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.cores import usable_cores, worker_processes
from muster.forecast.learning.calibration import Calibration
from muster.forecast.learning.learned import Learned
from muster.forecast.learning.past_job import PastJob
from muster.forecast.start_estimates import StartEstimate, estimated_starts

WEEK_MS = 7 * 86_400_000
PERIODS_MIN = 4  # of a trace that is shorter than four weeks
SAMPLES_A_PROCESS_MIN = 10
WAITING_MAX = 2
"""Jobs that already wait, for which a start is estimated at each moment."""


@dataclass(frozen=True, slots=True)
class PastEstimate:
    """An estimate and the start; times are on the trace's clock, None is beyond the horizon."""

    of_job: PastJob
    at_ms: int
    p10_ms: int | None
    p50_ms: int | None
    p90_ms: int | None
    start_ms: int

    @property
    def age_ms(self) -> int:
        """The time that the job had waited."""
        return self.at_ms - self.of_job.job.submit_ms


@dataclass(frozen=True, slots=True)
class Backtest:
    """The inputs of a backtest."""

    run: PastRun
    configuration: QueueConfiguration
    seeds: Sequence[int]
    period_ms: int
    samples: int


def period_of(run: PastRun) -> int:
    """Returns a week, or a quarter of a shorter trace."""
    span_ms = run.jobs[-1].job.submit_ms - run.jobs[0].job.submit_ms if run.jobs else 0
    return min(WEEK_MS, span_ms // PERIODS_MIN + 1)


def backtested(test: Backtest, progress: Callable[[float], None] | None = None) -> list[PastEstimate]:
    """Returns the estimates of a sample of jobs at their submission, and of jobs that waited then."""
    return list(_corrected(test, _simulated(test, progress)))


@dataclass(frozen=True, slots=True)
class _Simulated:
    """The simulated starts of a job in several futures, without corrections."""

    number: int
    estimate: StartEstimate
    start_ms: int


def _corrected(test: Backtest, simulated: Sequence[_Simulated]) -> Iterator[PastEstimate]:
    """Yields the estimates, corrected by estimates of earlier periods and the starts that were known then."""
    period_ms, calibration = -1, Calibration()
    for of in simulated:
        begin_ms = _begin_of_period(test, of.estimate.now_ms)
        if begin_ms != period_ms:
            earlier = (before for before in simulated if before.estimate.now_ms < begin_ms)
            calibration = Calibration(e.estimate.outcome(e.start_ms, begin_ms - 1) for e in earlier)
            period_ms = begin_ms
        estimate = replace(of.estimate, calibration=calibration)
        yield _past_estimate(test.run.jobs[of.number], estimate, of.start_ms)


def _simulated(test: Backtest, progress: Callable[[float], None] | None) -> list[_Simulated]:
    sampled = _sampled(test)
    workers = min(usable_cores(), len(sampled) // SAMPLES_A_PROCESS_MIN)
    _shared[:] = [test]
    _learned.clear()
    if workers <= 1:
        return [estimate for number in sampled for estimate in _estimates(number)]
    estimates: list[_Simulated] = []
    with worker_processes(workers) as pool:
        for done, chunk in enumerate(pool.map(_estimates, sampled), 1):
            estimates += chunk
            if progress is not None:
                progress(done / len(sampled))
    return estimates


def _begin_of_period(test: Backtest, at_ms: int) -> int:
    begin_ms = test.run.jobs[0].job.submit_ms
    return begin_ms + (at_ms - begin_ms) // test.period_ms * test.period_ms


_shared: list[Backtest] = []  # with the worker processes
_learned: dict[int, Learned] = {}  # by the begin of the period


def _sampled(test: Backtest) -> list[int]:
    """Returns jobs of the second period and later, evenly spread over all that started."""
    first_ms = test.run.jobs[0].job.submit_ms + test.period_ms if test.run.jobs else 0
    numbers = [
        n
        for n, of_job in enumerate(test.run.jobs)
        if of_job.job.submit_ms >= first_ms and test.run.start_ms(n) is not None
    ]
    count = min(test.samples, len(numbers))
    return [numbers[index * len(numbers) // count] for index in range(count)]


def _estimates(number: int) -> list[_Simulated]:
    """Estimates at the submission of a job, in a worker process."""
    (test,) = _shared
    run, now_ms = test.run, test.run.jobs[number].job.submit_ms
    period_ms = _begin_of_period(test, now_ms)
    if period_ms not in _learned:
        _learned.clear()
        _learned[period_ms] = Learned(jobs_until(run, period_ms - 1))
    state = moment(run, test.configuration, _learned[period_ms], now_ms)
    numbers = {number, *_waiting(run, now_ms, number)}
    numbers = {n for n in numbers if key_of(n) in state.workloads}
    delays = state.learned.delays
    estimates = estimated_starts(state, [key_of(n) for n in numbers], Assumptions(), test.seeds, delays)
    return [
        _Simulated(n, estimates[key_of(n)], start_ms)
        for n in sorted(numbers)
        if (start_ms := run.start_ms(n)) is not None
    ]


def _past_estimate(of_job: PastJob, estimate: StartEstimate, start_ms: int) -> PastEstimate:
    low_ms, median_ms, high_ms = (estimate.quantile_ms(share) for share in (0.1, 0.5, 0.9))
    return PastEstimate(of_job, estimate.now_ms, low_ms, median_ms, high_ms, start_ms)


def _waiting(run: PastRun, now_ms: int, number: int) -> Iterator[int]:
    """Yields jobs that have waited for some time, and start later."""
    waiting = [
        n
        for n, of_job in enumerate(run.jobs[:number])
        if (start_ms := run.start_ms(n)) is not None
        and start_ms > now_ms
        and of_job.job.submit_ms < now_ms
        and all(attempt.reserved_ms > now_ms for attempt in run.attempts[n])
    ]
    yield from Random(number).sample(waiting, min(WAITING_MAX, len(waiting)))
