"""The jobs of a trace as they ran: replayed under a configuration, or as the trace records them."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from muster import admission as core
from muster.forecast.futures import SimulationInputs
from muster.forecast.learning.past_job import PastJob, past_jobs
from muster.forecast.placement import PlacedJob
from muster.forecast.results.outcome import End
from muster.forecast.simulation.simulator import Simulator
from muster.forecast.traces.trace import TraceJob
from muster.translation.elastic import is_surplus

ENDED = (End.FINISHED, End.CANCELLED, End.DEACTIVATED, End.HORIZON)


class StartsOf(StrEnum):
    """The starts that estimates are compared with."""

    REPLAY = "replay"  # of a replay of the trace under the configuration
    RECORD = "record"  # in the trace, whose jobs ran under this configuration


@dataclass(frozen=True, slots=True)
class Size:
    """The worker groups of an autoscaled job from a time on; pods by pod set."""

    at_ms: int
    granted: Mapping[str, int]
    asked: Mapping[str, int]
    admission: core.Admission | None = None  # None: not recorded


@dataclass(frozen=True, slots=True)
class Attempt:
    """A time during which a job held quota, in milliseconds on the trace's clock."""

    reserved_ms: int
    admitted_ms: int | None  # None: its nodes were never provided
    started_ms: int | None  # None: it never started
    released_ms: int
    is_last: bool  # the job has ended
    admission: core.Admission | None = None  # None: not recorded
    sizes: Sequence[Size] = ()  # of an autoscaled job, in order of time

    def size_at(self, now_ms: int) -> Size | None:
        """Returns the size at a time; None before the job has asked for workers, or if it is fixed."""
        number = bisect_right(self.sizes, now_ms, key=lambda size: size.at_ms)
        return self.sizes[number - 1] if number else None


@dataclass(frozen=True, slots=True)
class PastRun:
    """Jobs and their attempts, by number of the job in `jobs`."""

    jobs: Sequence[PastJob]  # in order of submission
    attempts: Mapping[int, Sequence[Attempt]]

    def start_ms(self, job: int) -> int | None:
        """Returns when a job first started; None if it never did."""
        starts = (attempt.started_ms for attempt in self.attempts.get(job, ()))
        return next((start_ms for start_ms in starts if start_ms is not None), None)


class _Recording(Simulator):
    """A simulation that records the admission of each attempt, and the sizes of autoscaled jobs."""

    def __init__(self, inputs: SimulationInputs) -> None:
        super().__init__(inputs.configuration, inputs.jobs, inputs.assumptions)
        self.admissions: list[core.Admission] = []
        self.sizes: dict[int, list[Size]] = defaultdict(list)  # by row of the attempt
        self._elastic.on_size = self._note_size

    def _note_size(self, now_ms: int, job: int, _pod_set: str, _granted: int) -> None:
        groups, admission = self._elastic.groups(job), self._elastic.admission(job)
        size = Size(
            now_ms,
            {name: self._elastic.granted(job, name) for name in groups},
            {name: group.asked for name, group in groups.items()},
            admission,
        )
        sizes = self.sizes[self._gangs.running[job].row]
        if sizes and sizes[-1].at_ms == now_ms:
            sizes.pop()
        sizes.append(size)

    def _carry_out(self, plan: core.Plan, now_ms: int) -> None:
        self.admissions += [d.admission for d in plan.admissions if not is_surplus(d.workload)]
        super()._carry_out(plan, now_ms)


def replayed(inputs: SimulationInputs, trace: Sequence[TraceJob]) -> PastRun:
    """Replays the jobs of a trace, with the first seed for delays and failures."""
    simulator = _Recording(inputs)
    outcome, start_up_ms = simulator.run(), round(1000 * inputs.assumptions.start_up_s)
    rows, by_job = outcome.attempts, defaultdict[int, list[Attempt]](list)
    for row, job in enumerate(rows.job):
        started_ms = rows.started_ms[row] if rows.started_ms[row] >= 0 else None
        by_job[job].append(
            Attempt(
                rows.reserved_ms[row],
                None if started_ms is None else started_ms - start_up_ms,
                started_ms,
                rows.ended_ms[row],
                rows.end[row] in ENDED,
                simulator.admissions[row],
                simulator.sizes.get(row, ()),
            )
        )
    return PastRun(past_jobs(trace, inputs.jobs), by_job)


def recorded(jobs: Sequence[PlacedJob], trace: Sequence[TraceJob]) -> PastRun:
    """Returns the jobs as the trace records them: their last attempt."""
    past = past_jobs(trace, jobs)
    return PastRun(past, {number: [attempt] for number, attempt in _recorded_attempts(past)})


def _recorded_attempts(past: Sequence[PastJob]) -> Iterator[tuple[int, Attempt]]:
    for number, of_job in enumerate(past):
        if of_job.waited_ms is None or of_job.job.run_ms is None:
            continue
        admitted_ms = of_job.job.submit_ms + of_job.waited_ms
        started_ms = admitted_ms + (of_job.start_up_ms or 0)
        reserved_ms = admitted_ms - (of_job.provisioning_ms or 0)
        released_ms, sizes = started_ms + of_job.job.run_ms, list(_recorded_sizes(of_job.job, started_ms))
        yield number, Attempt(reserved_ms, admitted_ms, started_ms, released_ms, True, sizes=sizes)


def _recorded_sizes(job: PlacedJob, started_ms: int) -> Iterator[Size]:
    """Yields the sizes of an autoscaled job; none if its trace has only the demand."""
    changes = [(of.after_ms, name, of) for name, demand in job.demand.items() for of in demand]
    granted: dict[str, int] = {}
    asked: dict[str, int] = {}
    for after_ms, name, change in sorted(changes, key=lambda change: change[:2]):
        if change.granted is not None:
            granted[name], asked[name] = change.granted, change.asked
            yield Size(started_ms + after_ms, dict(granted), dict(asked))
