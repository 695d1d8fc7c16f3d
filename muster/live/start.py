"""Estimates when a pending workload starts: futures of a live cluster with random run times and delays."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from muster.forecast.assumptions import Assumptions
from muster.forecast.placement import PlacedJob
from muster.forecast.simulation.resumed import Initial, InitialWorkload, ResumedSimulator
from muster.live.run_times import RunTimeSource
from muster.live.state import ObservedState, placed
from muster.live.workloads import LiveWorkload

DAY_MS = 86_400_000
HORIZON_MS = 30 * DAY_MS
ENDLESS_MS = 3650 * DAY_MS


@dataclass(frozen=True, slots=True)
class StartEstimate:
    """The starts of a workload in the simulated futures."""

    now_ms: int
    starts_ms: Sequence[int | None]  # one per future; None: not within the horizon
    sources: Mapping[RunTimeSource, int]  # number of other workloads by the source of their run time

    def quantile_ms(self, quantile: float) -> int | None:
        """Returns a quantile of the start over the futures; None if it is beyond the horizon."""
        in_order = sorted(HORIZON_MS + self.now_ms + 1 if s is None else s for s in self.starts_ms)
        start_ms = in_order[round(quantile * (len(in_order) - 1))]
        return start_ms if start_ms <= self.now_ms + HORIZON_MS else None

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
    state: ObservedState, key: str, assumptions: Assumptions, seeds: Sequence[int]
) -> StartEstimate:
    """Simulates one future per seed until the workload with this key starts."""
    return estimated_starts(state, [key], assumptions, seeds)[key]


def estimated_starts(
    state: ObservedState, keys: Collection[str], assumptions: Assumptions, seeds: Sequence[int]
) -> dict[str, StartEstimate]:
    """Simulates one future per seed until the workloads with these keys start. Returns the
    estimates by key."""
    numbers = {key: number for number, key in enumerate(state.workloads) if key in keys}
    until_ms = state.now_ms + HORIZON_MS
    starts_ms: dict[str, list[int | None]] = {key: [] for key in keys}
    sources: dict[str, RunTimeSource] = {}
    for seed in seeds:
        jobs, sources = drawn_jobs(state, assumptions, seed)
        workloads = [
            InitialWorkload(live.workload, started_ms(live, assumptions, state.now_ms), live.ended)
            for live in state.workloads.values()
        ]
        initial = Initial(state.now_ms, workloads)
        simulator = ResumedSimulator(state.configuration, jobs, assumptions, seed, initial)
        started = simulator.starts_ms(numbers.values(), until_ms)
        for key, number in numbers.items():
            starts_ms[key].append(started.get(number))
    all_sources = Counter(sources.values())
    return {
        key: StartEstimate(state.now_ms, starts_ms[key], all_sources - Counter([sources[key]]))
        for key in keys
    }


def drawn_jobs(
    state: ObservedState, assumptions: Assumptions, seed: int
) -> tuple[list[PlacedJob], dict[str, RunTimeSource]]:
    """Returns the workloads as jobs with the run times of one future, and the source of each run
    time by key."""
    jobs, sources = [], dict[str, RunTimeSource]()
    for number, (key, live) in enumerate(state.workloads.items()):
        job = placed(number, live.workload, live.priority_class, None)
        run_ms, source = _run_ms(live, job, state, assumptions, seed)
        jobs.append(placed(number, live.workload, live.priority_class, run_ms))
        sources[key] = source
    return jobs, sources


def started_ms(live: LiveWorkload, assumptions: Assumptions, now_ms: int) -> int | None:
    """Returns when the gang started or is expected to; None if it waits for quota or admission checks."""
    if live.workload.admission is None or live.admitted_ms is None:
        return None
    if live.ready_ms is not None:
        return min(live.ready_ms, now_ms)
    expected_ms = live.admitted_ms + round(1000 * assumptions.start_up_s)
    return max(now_ms, expected_ms) if live.reports_ready else expected_ms


def _run_ms(
    live: LiveWorkload, job: PlacedJob, state: ObservedState, assumptions: Assumptions, seed: int
) -> tuple[int, RunTimeSource]:
    """Returns the total run time of the gang, from its last start if it already runs."""
    start_ms = started_ms(live, assumptions, state.now_ms)
    ran_ms = 0 if start_ms is None else max(0, state.now_ms - start_ms)
    declared_ms = live.workload.run_time_ms
    if declared_ms is not None:
        if start_ms is None or live.admitted_ms is None:
            return declared_ms, RunTimeSource.DECLARED
        return max(ran_ms, live.admitted_ms + declared_ms - start_ms), RunTimeSource.DECLARED
    if live.is_endless:
        return ENDLESS_MS, RunTimeSource.ENDLESS
    return state.history.drawn_ms(job, ran_ms, Random(f"{seed}/{live.workload.uid}"))
