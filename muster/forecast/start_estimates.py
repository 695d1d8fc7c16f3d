"""Estimates when pending workloads start: futures of a cluster with random run times, delays, cancellations
and later submissions."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from random import Random

from muster.forecast.assumptions import Assumptions
from muster.forecast.estimate_outcome import EstimateOutcome, SimulatedWait
from muster.forecast.learning.calibration import Calibration
from muster.forecast.learning.delays import AS_ASSUMED, Delays
from muster.forecast.learning.run_times import FutureRunTimes, RunTimeSource
from muster.forecast.observed_state import ObservedWorkload, State
from muster.forecast.placement import PlacedJob, accelerators
from muster.forecast.simulation.futures import Future
from muster.forecast.simulation.resumed import FirstGrowth, Initial, InitialWorkload, ResumedSimulator

DAY_MS = 86_400_000
HORIZON_MS = 30 * DAY_MS
ENDLESS_MS = 3650 * DAY_MS


@dataclass(frozen=True, slots=True)
class StartEstimate:
    """The starts of a workload in the simulated futures, without futures in which it is cancelled."""

    now_ms: int
    starts_ms: Sequence[int | None]  # None: not within the horizon
    sources: Mapping[RunTimeSource, int]  # number of other workloads by the source of their run time
    age_ms: int = 0  # how long the workload has waited
    # None: quantiles are those of the futures.
    calibration: Calibration | None = field(default=None, compare=False)

    def quantile_ms(self, quantile: float) -> int | None:
        """Returns a quantile of the start, corrected by the errors of earlier estimates; None if it is beyond
        the horizon."""
        at_ms = self._simulated_ms(quantile)
        if at_ms is None or self.calibration is None:
            return at_ms
        wait_ms = self.calibration.wait_ms(self.simulated, quantile)
        return self.now_ms + wait_ms if wait_ms <= HORIZON_MS else None

    def outcome(self, start_ms: int | None, known_ms: int) -> EstimateOutcome:
        """Returns the estimate with the start, or without it if the workload had not started until
        `known_ms`."""
        has_started = start_ms is not None and start_ms <= known_ms
        end_ms = start_ms if start_ms is not None and has_started else known_ms
        return EstimateOutcome(self.now_ms, self.simulated, end_ms - self.now_ms, has_started)

    @property
    def simulated(self) -> SimulatedWait:
        """The wait in the futures; the horizon if it is longer."""
        low_ms, median_ms, high_ms = (
            HORIZON_MS if at_ms is None else at_ms - self.now_ms
            for at_ms in map(self._simulated_ms, (0.1, 0.5, 0.9))
        )
        return SimulatedWait(self.age_ms, low_ms, median_ms, high_ms)

    def _simulated_ms(self, quantile: float) -> int | None:
        """Returns a quantile of the start over the futures.

        A start is as likely between any two of n futures as before the first, so the k-th start is the
        quantile k / (n + 1); between two starts, it is interpolated."""
        in_order = sorted(HORIZON_MS + self.now_ms + 1 if s is None else s for s in self.starts_ms)
        rank = min(max(quantile * (len(in_order) + 1) - 1, 0.0), len(in_order) - 1.0)
        low, high = in_order[int(rank)], in_order[ceil(rank)]
        end_ms = self.now_ms + HORIZON_MS
        if high > end_ms:
            return low if quantile < 0.5 and low <= end_ms else None
        return round(low + (rank - int(rank)) * (high - low))

    @property
    def started(self) -> int:
        """The number of futures in which the workload starts."""
        return sum(start is not None for start in self.starts_ms)

    @property
    def agreeing(self) -> int:
        """The number of futures whose wait is between half and twice the median."""
        median_ms = self.quantile_ms(0.5)
        if median_ms is None:
            return len(self.starts_ms) - self.started
        waits_ms = (start - self.now_ms for start in self.starts_ms if start is not None)
        return sum(median_ms - self.now_ms <= 2 * wait <= 4 * (median_ms - self.now_ms) for wait in waits_ms)


def estimated_start(
    state: State, key: str, assumptions: Assumptions, seeds: Sequence[int], delays: Delays = AS_ASSUMED
) -> StartEstimate:
    """Simulates one future per seed until the workload with this key starts."""
    return estimated_starts(state, [key], assumptions, seeds, delays)[key]


def estimated_starts(
    state: State,
    keys: Collection[str],
    assumptions: Assumptions,
    seeds: Sequence[int],
    delays: Delays = AS_ASSUMED,
) -> dict[str, StartEstimate]:
    """Simulates one future per seed until the workloads with these keys start. Returns the
    estimates by key."""
    futures = [simulated_future(state, keys, {}, assumptions, seed, delays) for seed in seeds]
    return starts_of(state, keys, futures, run_time_sources(state, assumptions))


@dataclass(frozen=True, slots=True)
class SimulatedFuture:
    """The starts and the growth of workloads in one future; worker groups by the workload and its pod set."""

    starts_ms: Mapping[str, int]  # by key; without those that do not start within the horizon
    cancelled: Collection[str]  # keys
    asking: Collection[tuple[str, str]]  # worker groups that ask for more
    growth: Mapping[tuple[str, str], FirstGrowth]


def starts_of(
    state: State,
    keys: Collection[str],
    futures: Sequence[SimulatedFuture],
    sources: Mapping[str, RunTimeSource],
) -> dict[str, StartEstimate]:
    """Returns the estimated starts of these workloads, by key."""
    counted = Counter(sources.values())
    starts_ms = {
        key: [future.starts_ms.get(key) for future in futures if key not in future.cancelled] for key in keys
    }
    return {
        key: StartEstimate(
            state.now_ms,
            starts_ms[key] or [None],
            counted - Counter([sources[key]]),
            max(0, state.now_ms - state.workloads[key].waiting_since_ms),
            state.learned.calibration,
        )
        for key in keys
    }


def simulated_future(
    state: State,
    keys: Collection[str],
    growing: Mapping[tuple[str, str], int],
    assumptions: Assumptions,
    seed: int,
    delays: Delays,
) -> SimulatedFuture:
    """Simulates one future until the workloads `keys` have started, and the worker groups `growing`, by
    workload and pod set, have more pods with quota than these."""
    simulator, jobs = resumed(state, assumptions, seed, delays)
    names = dict(enumerate(state.workloads))
    numbers = {key: number for number, key in names.items()}
    groups = {(numbers[key], name): pods for (key, name), pods in growing.items()}
    started = simulator.starts_ms({numbers[key] for key in keys}, state.now_ms + HORIZON_MS, groups)
    unstarted = (key for key in keys if numbers[key] not in started)
    return SimulatedFuture(
        starts_ms={names[number]: at_ms for number, at_ms in started.items()},
        cancelled={key for key in unstarted if jobs[numbers[key]].cancelled_ms is not None},
        asking={(names[number], name) for number, name in simulator.asking},
        growth={(names[number], name): first for (number, name), first in simulator.growth.items()},
    )


def resumed(
    state: State, assumptions: Assumptions, seed: int, delays: Delays, until_ms: int | None = None
) -> tuple[ResumedSimulator, Sequence[PlacedJob]]:
    """Returns a simulation of one future with its jobs: the workloads, and jobs that are submitted later, as
    in Arrivals.drawn."""
    jobs = drawn_jobs(state, assumptions, seed, delays)
    future = Future(seed, assumptions, delays)
    initial = [
        InitialWorkload(
            live.workload,
            started_ms(live, job, future, state.now_ms),
            live.ended,
            live.terminating,
            live.nodes,
        )
        for live, job in zip(state.workloads.values(), jobs, strict=True)
    ]
    jobs += _arrivals(state, len(jobs), seed, until_ms)
    initial_state = Initial(state.now_ms, initial)
    return ResumedSimulator(state.configuration, jobs, assumptions, seed, initial_state, delays), jobs


def drawn_jobs(
    state: State, assumptions: Assumptions, seed: int, delays: Delays = AS_ASSUMED
) -> list[PlacedJob]:
    """Returns the workloads as jobs with the run times and cancellations of one future."""
    run_times, future = state.learned.run_times.in_future(seed), Future(seed, assumptions, delays)
    jobs = []
    for number, live in enumerate(state.workloads.values()):
        job = observed_job(number, live, None)
        start_ms = started_ms(live, job, future, state.now_ms)
        random = Random(f"{seed}/{live.workload.uid}")
        run_ms = _run_ms(live, job, start_ms, assumptions, run_times, state.now_ms, random)
        cancelled_ms = None
        if live.workload.admission is None:
            waited_ms = max(0, state.now_ms - job.submit_ms)
            cancelled_ms = state.learned.cancellations.drawn_ms(job.queue, waited_ms, random)
        jobs.append(replace(job, run_ms=run_ms, cancelled_ms=cancelled_ms))
    return jobs


def run_time_sources(state: State, assumptions: Assumptions) -> dict[str, RunTimeSource]:
    """Returns the source of each workload's run time, by key."""
    return {
        key: _source(live, observed_job(0, live, None), state, assumptions)
        for key, live in state.workloads.items()
    }


def observed_job(number: int, live: ObservedWorkload, run_ms: int | None) -> PlacedJob:
    """Returns a workload as a job of a simulation."""
    workload = live.workload
    queue = workload.admission.cluster_queue if workload.admission else workload.cluster_queue
    # An autoscaled gang counts with its minimum, as in the record of its past runs.
    counts = {pods.name: pods.count for pods in workload.pod_sets}
    counts |= {name: group.minimum for name, group in live.groups.items()}
    return PlacedJob(
        name=workload.key,
        submit_ms=live.waiting_since_ms,
        queue=queue,
        priority_class=live.priority_class,
        user=live.user,
        pods=sum(counts.values()),
        accelerators=sum(counts[pods.name] * accelerators(pods.requests) for pods in workload.pod_sets),
        number=number,
        run_ms=run_ms,
        priority=workload.priority,
        pod_sets=workload.pod_sets,
        groups=live.groups,
    )


def started_ms(live: ObservedWorkload, job: PlacedJob, future: Future, now_ms: int) -> int | None:
    """Returns when the gang started or starts in this future; None if it waits for quota or admission
    checks."""
    if live.workload.admission is None or live.admitted_ms is None:
        return None
    if live.ready_ms is not None:
        return min(live.ready_ms, now_ms)
    passed_ms = max(0, now_ms - live.admitted_ms) if live.reports_ready else 0
    expected_ms = live.admitted_ms + future.start_up_ms(job, 0, passed_ms)
    return max(now_ms, expected_ms) if live.reports_ready else expected_ms


def _run_ms(
    live: ObservedWorkload,
    job: PlacedJob,
    start_ms: int | None,
    assumptions: Assumptions,
    run_times: FutureRunTimes,
    now_ms: int,
    random: Random,
) -> int:
    """Returns the total run time of the gang in a future, from its last start if it already runs."""
    if live.is_endless:
        return ENDLESS_MS
    ran_ms = 0 if start_ms is None else max(0, now_ms - start_ms)
    limit_ms = live.workload.run_time_ms
    if limit_ms is not None and start_ms is not None and live.admitted_ms is not None:
        limit_ms = max(0, live.admitted_ms + limit_ms - start_ms)
    if limit_ms is not None and assumptions.limit_share:
        return max(ran_ms, round(assumptions.limit_share * limit_ms))
    return run_times.drawn_ms(job, limit_ms, ran_ms, random)


def _source(live: ObservedWorkload, job: PlacedJob, state: State, assumptions: Assumptions) -> RunTimeSource:
    if live.is_endless:
        return RunTimeSource.ENDLESS
    limit_ms = live.workload.run_time_ms
    if limit_ms is not None and assumptions.limit_share:
        return RunTimeSource.FIXED
    ran_ms = 0 if live.ready_ms is None else max(0, state.now_ms - live.ready_ms)
    return state.learned.run_times.source(job, limit_ms, ran_ms)


def _arrivals(state: State, first: int, seed: int, until_ms: int | None) -> list[PlacedJob]:
    """Returns the jobs that are submitted later in a future; `first` is the number of the first."""
    random, queues = Random(f"{seed}/arrivals"), state.configuration.snapshot.cluster_queues
    run_times, arrivals = state.learned.run_times.in_future(seed), state.learned.arrivals
    rate = arrivals.rate_of_future(seed)
    jobs: list[PlacedJob] = []
    for past, after_ms in arrivals.drawn(state.now_ms, random, until_ms):
        for _ in range(int(rate + random.random()) if past.job.queue in queues else 0):
            job, number = past.job, first + len(jobs)
            run_ms, cancelled_ms = job.run_ms, job.cancelled_ms
            if run_ms is None:
                run_ms = run_times.drawn_ms(job, past.limit_ms, past.ran_ms or 0, random)
            else:
                cancelled_ms = None
            submit_ms = state.now_ms + 1 + after_ms
            jobs.append(
                replace(job, number=number, submit_ms=submit_ms, run_ms=run_ms, cancelled_ms=cancelled_ms)
            )
    return jobs
