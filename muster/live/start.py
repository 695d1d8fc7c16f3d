"""When a pending workload starts: futures of a live cluster, each with its own run times and delays."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from muster.forecast.assumptions import Assumptions
from muster.forecast.placement import PlacedJob
from muster.forecast.simulation.resumed import Initial, InitialWorkload, ResumedSimulator
from muster.live.run_times import Source
from muster.live.state import LiveState, placed
from muster.live.workloads import LiveWorkload

DAY_MS = 86_400_000
HORIZON_MS = 30 * DAY_MS
ENDLESS_MS = 3650 * DAY_MS


@dataclass(frozen=True, slots=True)
class StartEstimate:
    """`starts_ms` has the start in each future; None: not within the horizon. `sources` counts the run times
    that were assumed for other workloads, by their source."""

    now_ms: int
    starts_ms: Sequence[int | None]
    sources: Mapping[Source, int]

    def quantile_ms(self, quantile: float) -> int | None:
        """Returns the start that so many of the futures reach at the latest; None: fewer start at all."""
        in_order = sorted(HORIZON_MS + self.now_ms + 1 if s is None else s for s in self.starts_ms)
        found = in_order[round(quantile * (len(in_order) - 1))]
        return found if found <= self.now_ms + HORIZON_MS else None

    @property
    def started(self) -> int:
        """Returns the number of futures in which it starts."""
        return sum(start is not None for start in self.starts_ms)

    @property
    def agreeing(self) -> int:
        """Returns the number of futures whose wait is between half and twice the median."""
        median_ms = self.quantile_ms(0.5)
        if median_ms is None:
            return len(self.starts_ms) - self.started
        waits_ms = (start - self.now_ms for start in self.starts_ms if start is not None)
        return sum(median_ms - self.now_ms <= 2 * wait <= 4 * (median_ms - self.now_ms) for wait in waits_ms)


def estimated_start(
    state: LiveState, key: str, assumptions: Assumptions, seeds: Sequence[int]
) -> StartEstimate:
    """Simulates one future a seed, until the workload with this key starts."""
    return estimated_starts(state, [key], assumptions, seeds)[key]


def estimated_starts(
    state: LiveState, keys: Collection[str], assumptions: Assumptions, seeds: Sequence[int]
) -> dict[str, StartEstimate]:
    """Simulates one future a seed, until the workloads with these keys start. Returns them by key."""
    numbers = {key: number for number, key in enumerate(state.workloads) if key in keys}
    until_ms = state.now_ms + HORIZON_MS
    starts_ms: dict[str, list[int | None]] = {key: [] for key in keys}
    sources: dict[str, Source] = {}
    for seed in seeds:
        jobs, sources = drawn_jobs(state, assumptions, seed)
        workloads = [
            InitialWorkload(one.workload, started_ms(one, assumptions, state.now_ms), one.ended)
            for one in state.workloads.values()
        ]
        initial = Initial(state.now_ms, workloads)
        simulator = ResumedSimulator(state.configuration, jobs, assumptions, seed, initial)
        found = simulator.starts_ms(numbers.values(), until_ms)
        for key, number in numbers.items():
            starts_ms[key].append(found.get(number))
    all_sources = Counter(sources.values())
    return {
        key: StartEstimate(state.now_ms, starts_ms[key], all_sources - Counter([sources[key]]))
        for key in keys
    }


def drawn_jobs(
    state: LiveState, assumptions: Assumptions, seed: int
) -> tuple[list[PlacedJob], dict[str, Source]]:
    """Returns the workloads as jobs with the run times of one future, and their sources by key."""
    jobs, sources = [], dict[str, Source]()
    for number, (key, one) in enumerate(state.workloads.items()):
        job = placed(number, one.workload, one.priority_class, None)
        run_ms, source = _run_ms(one, job, state, assumptions, seed)
        jobs.append(placed(number, one.workload, one.priority_class, run_ms))
        sources[key] = source
    return jobs, sources


def started_ms(one: LiveWorkload, assumptions: Assumptions, now_ms: int) -> int | None:
    """Returns since when its gang runs, or when it will; None: it waits for quota or for its checks."""
    if one.workload.admission is None or one.admitted_ms is None:
        return None
    if one.ready_ms is not None:
        return min(one.ready_ms, now_ms)
    due_ms = one.admitted_ms + round(1000 * assumptions.start_up_s)
    return max(now_ms, due_ms) if one.reports_ready else due_ms


def _run_ms(
    one: LiveWorkload, job: PlacedJob, state: LiveState, assumptions: Assumptions, seed: int
) -> tuple[int, Source]:
    """Returns how long its gang runs in all, from its last start if it runs already."""
    start_ms = started_ms(one, assumptions, state.now_ms)
    ran_ms = 0 if start_ms is None else max(0, state.now_ms - start_ms)
    declared_ms = one.workload.run_time_ms
    if declared_ms is not None:
        if start_ms is None or one.admitted_ms is None:
            return declared_ms, Source.DECLARED
        return max(ran_ms, one.admitted_ms + declared_ms - start_ms), Source.DECLARED
    if one.is_endless:
        return ENDLESS_MS, Source.ENDLESS
    return state.history.drawn_ms(job, ran_ms, Random(f"{seed}/{one.workload.uid}"))
