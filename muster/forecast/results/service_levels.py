"""Service levels: the share of jobs that start within a time of their submission, by group and by month."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean
from typing import NamedTuple

from muster.forecast.results.outcome import SimulatedJob, SimulationOutcome
from muster.forecast.results.waits import JobGroup, band, groups_of, is_cancelled, waits_ms

DAY_MS = 86_400_000
MONTH_DAYS = 30


class LevelKey(NamedTuple):
    """Jobs with a common service level: of a group, or those of a group that are submitted in a month."""

    group: JobGroup
    month: str = ""


Keys = Callable[[SimulatedJob], Iterable[LevelKey]]


@dataclass(frozen=True, slots=True)
class ServiceLevel:
    """The share of jobs that start in time, over the futures. Jobs that never start are late; jobs that were
    cancelled before they started are omitted."""

    jobs: float  # mean number
    share: float  # mean of 0 to 1
    low: float  # 10th percentile
    high: float  # 90th percentile


def service_levels(
    outcomes: Sequence[SimulationOutcome], within_s: float, keys: Keys
) -> Mapping[LevelKey, ServiceLevel]:
    """Returns the level of each key in order."""
    futures = [_counts(outcome, within_s, keys) for outcome in outcomes]
    every = sorted({key for future in futures for key in future})
    return {key: _level([future[key] for future in futures if key in future]) for key in every}


def by_group(job: SimulatedJob) -> Iterable[LevelKey]:
    """Yields the groups of a job."""
    return map(LevelKey, groups_of(job))


def by_month(begins_ms: int | None) -> Keys:
    """Returns the keys of all jobs and of each queue, by the month of the submission in UTC; by periods of 30
    days if the trace has no dates. `begins_ms` is the Unix time of its start."""

    def keys(job: SimulatedJob) -> Iterable[LevelKey]:
        month = _month(job.submit_ms, begins_ms)
        return LevelKey(JobGroup(), month), LevelKey(JobGroup(job.queue), month)

    return keys


def _month(submit_ms: int, begins_ms: int | None) -> str:
    if begins_ms is None:
        first = submit_ms // DAY_MS // MONTH_DAYS * MONTH_DAYS
        return f"days {first + 1:03}-{first + MONTH_DAYS:03}"
    return f"{datetime.fromtimestamp((begins_ms + submit_ms) / 1000, UTC):%Y-%m}"


def _counts(outcome: SimulationOutcome, within_s: float, keys: Keys) -> Mapping[LevelKey, tuple[int, int]]:
    """Returns the number of jobs and of jobs that start in time."""
    counts: dict[LevelKey, tuple[int, int]] = {}
    for job, wait_ms in zip(outcome.jobs, waits_ms(outcome), strict=True):
        if is_cancelled(job, wait_ms):
            continue
        in_time = wait_ms is not None and wait_ms <= 1000 * within_s
        for key in keys(job):
            jobs, started = counts.get(key, (0, 0))
            counts[key] = jobs + 1, started + in_time
    return counts


def _level(counts: Sequence[tuple[int, int]]) -> ServiceLevel:
    shares = sorted(started / jobs for jobs, started in counts)
    return ServiceLevel(fmean(jobs for jobs, _ in counts), fmean(shares), *band(shares))
