"""Waiting times by queue, priority class and gang size."""

from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from muster.forecast.results.outcome import SimulatedJob, SimulationOutcome

SIZES = (0, 1, 8, 16, 32, 64, 128, 256)
"""Upper bounds of the gang size groups, in accelerators."""


class JobGroup(NamedTuple):
    """Jobs that are compared with each other. An empty field matches all values."""

    queue: str = ""
    priority_class: str = ""
    size: str = ""


@dataclass(frozen=True, slots=True)
class Waits:
    """Statistics in seconds over jobs that started; `never` counts jobs that did not."""

    count: int
    never: int
    mean_s: float
    p50_s: float
    p90_s: float
    p95_s: float
    p99_s: float
    max_s: float


def waits_ms(outcome: SimulationOutcome) -> list[int | None]:
    """Returns the wait of each job from its submission until its gang first starts; None if it
    never starts."""
    waits: list[int | None] = [None] * len(outcome.jobs)
    attempts = outcome.attempts
    for job, started_ms in zip(attempts.job, attempts.started_ms, strict=True):
        if waits[job] is None and started_ms >= 0:
            waits[job] = started_ms - outcome.jobs[job].submit_ms
    return waits


def is_cancelled(job: SimulatedJob, wait_ms: int | None) -> bool:
    """Returns whether a job without a start left the queue because its user cancelled it."""
    return wait_ms is None and job.cancelled_ms is not None


def never_started(outcome: SimulationOutcome) -> int:
    """Returns the number of jobs that never start; cancelled jobs do not count."""
    pairs = zip(outcome.jobs, waits_ms(outcome), strict=True)
    return sum(wait_ms is None and job.cancelled_ms is None for job, wait_ms in pairs)


def cancelled(outcome: SimulationOutcome) -> int:
    """Returns the number of jobs that were cancelled before they started."""
    return sum(is_cancelled(*pair) for pair in zip(outcome.jobs, waits_ms(outcome), strict=True))


def size_of(job: SimulatedJob) -> str:
    """Returns the size group of a job."""
    index = bisect_left(SIZES, job.accelerators)
    if index == 0:
        return "CPU"
    if index == len(SIZES):
        return f">{SIZES[-1]}"
    low = SIZES[index - 1] + 1
    return str(low) if low == SIZES[index] else f"{low}-{SIZES[index]}"


def groups_of(job: SimulatedJob) -> Iterator[JobGroup]:
    """Yields the groups of a job: all, its queue, its class in the queue, and its size in the queue."""
    yield JobGroup()
    yield JobGroup(queue=job.queue)
    if job.priority_class:
        yield JobGroup(queue=job.queue, priority_class=job.priority_class)
    yield JobGroup(queue=job.queue, size=size_of(job))


def in_order(groups: Iterable[JobGroup]) -> list[JobGroup]:
    """Sorts groups by queue: first the queue itself, then its classes, then its sizes in ascending order."""

    def first_size(group: JobGroup) -> int:
        text = group.size.lstrip(">").partition("-")[0]
        return int(text) if text.isdecimal() else 0

    return sorted(groups, key=lambda g: (g.queue, bool(g.size), g.priority_class, first_size(g)))


def waits_by_group(outcome: SimulationOutcome, among: Container[int] | None = None) -> dict[JobGroup, Waits]:
    """Returns the waits of each group, sorted by group. `among` restricts them to jobs with these numbers."""
    return grouped(outcome.jobs, waits_ms(outcome), among)


def grouped(
    jobs: Iterable[SimulatedJob], waits: Iterable[int | None], among: Container[int] | None = None
) -> dict[JobGroup, Waits]:
    """Returns the statistics of waits by group; `waits` has one value per job. Jobs that were cancelled
    before they started are omitted."""
    by_group: dict[JobGroup, list[int | None]] = {}
    columns_of: dict[
        tuple[str, str, int], list[list[int | None]]
    ] = {}  # by the fields that determine the groups
    for job, wait_ms in zip(jobs, waits, strict=True):
        if (among is not None and job.number not in among) or is_cancelled(job, wait_ms):
            continue
        alike = (job.queue, job.priority_class, job.accelerators)
        columns = columns_of.get(alike)
        if columns is None:
            columns = columns_of[alike] = [by_group.setdefault(group, []) for group in groups_of(job)]
        for column in columns:
            column.append(wait_ms)
    return {group: statistics(by_group[group]) for group in sorted(by_group)}


def statistics(waits: Sequence[int | None]) -> Waits:
    """Returns statistics of waits given in milliseconds; zeros if no job started."""
    started = sorted(wait / 1000 for wait in waits if wait is not None)
    never = len(waits) - len(started)
    if not started:
        return Waits(0, never, 0, 0, 0, 0, 0, 0)
    mean_s = sum(started) / len(started)
    p50_s, p90_s, p95_s, p99_s = (quantile(started, share) for share in (0.5, 0.9, 0.95, 0.99))
    return Waits(len(started), never, mean_s, p50_s, p90_s, p95_s, p99_s, started[-1])


def quantile(ordered: Sequence[float], share: float) -> float:
    """Returns the smallest value that at least this share of `ordered` does not exceed."""
    return ordered[max(0, min(len(ordered) - 1, -int(-share * len(ordered) // 1) - 1))]


def band(ordered: Sequence[float]) -> tuple[float, float]:
    """Returns the 10th and the 90th percentile of a value over the futures: the values at these shares of the
    last index, rounded."""
    last = len(ordered) - 1
    return ordered[round(0.1 * last)], ordered[round(0.9 * last)]


def mean_of(groups: Sequence[Mapping[JobGroup, Waits]], group: JobGroup, statistic: str) -> float:
    """Returns the mean of one statistic over the futures."""
    values = [getattr(waits[group], statistic) for waits in groups if group in waits]
    return sum(values) / len(values) if values else 0.0
