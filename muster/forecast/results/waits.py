"""Waiting times, by queue, priority class and gang size."""

from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from muster.forecast.results.outcome import Outcome, SimulatedJob

SIZES = (0, 1, 8, 16, 32, 64, 128, 256)
"""Upper bounds of the groups of gang sizes, in accelerators."""


class Group(NamedTuple):
    """Jobs that are compared with each other. An empty field means all of its values."""

    queue: str = ""
    priority_class: str = ""
    size: str = ""


@dataclass(frozen=True, slots=True)
class Waits:
    """Statistics in seconds over the jobs that started; `never` counts those that did not."""

    count: int
    never: int
    mean_s: float
    p50_s: float
    p90_s: float
    p99_s: float
    max_s: float


def waits_ms(outcome: Outcome) -> list[int | None]:
    """Returns the wait of each job: from its submission until its gang first starts. None: it never does."""
    waits: list[int | None] = [None] * len(outcome.jobs)
    attempts = outcome.attempts
    for job, started_ms in zip(attempts.job, attempts.started_ms, strict=True):
        if waits[job] is None and started_ms >= 0:
            waits[job] = started_ms - outcome.jobs[job].submit_ms
    return waits


def size_of(job: SimulatedJob) -> str:
    """Returns the group of its gang size."""
    index = bisect_left(SIZES, job.accelerators)
    if index == 0:
        return "CPU"
    if index == len(SIZES):
        return f">{SIZES[-1]}"
    low = SIZES[index - 1] + 1
    return str(low) if low == SIZES[index] else f"{low}-{SIZES[index]}"


def groups_of(job: SimulatedJob) -> Iterator[Group]:
    """Yields the groups that a job counts in: all, its queue, its queue's class, and its queue's size."""
    yield Group()
    yield Group(queue=job.queue)
    if job.priority_class:
        yield Group(queue=job.queue, priority_class=job.priority_class)
    yield Group(queue=job.queue, size=size_of(job))


def in_order(groups: Iterable[Group]) -> list[Group]:
    """Sorts groups by queue: all of it first, then its classes, then its sizes from small to large."""

    def first_size(group: Group) -> int:
        text = group.size.lstrip(">").partition("-")[0]
        return int(text) if text.isdecimal() else 0

    return sorted(groups, key=lambda g: (g.queue, bool(g.size), g.priority_class, first_size(g)))


def waits_by_group(outcome: Outcome, among: Container[int] | None = None) -> dict[Group, Waits]:
    """Returns the waits of each group, sorted by group; `among`: only of jobs with these numbers."""
    return grouped(outcome.jobs, waits_ms(outcome), among)


def grouped(
    jobs: Iterable[SimulatedJob], waits: Iterable[int | None], among: Container[int] | None = None
) -> dict[Group, Waits]:
    """Returns the statistics of waits, one a job, by group."""
    found: dict[Group, list[int | None]] = {}
    known: dict[tuple[str, str, int], list[list[int | None]]] = {}  # groups of jobs that look alike
    for job, wait_ms in zip(jobs, waits, strict=True):
        if among is not None and job.number not in among:
            continue
        alike = (job.queue, job.priority_class, job.accelerators)
        columns = known.get(alike)
        if columns is None:
            columns = known[alike] = [found.setdefault(group, []) for group in groups_of(job)]
        for column in columns:
            column.append(wait_ms)
    return {group: statistics(found[group]) for group in sorted(found)}


def statistics(waits: Sequence[int | None]) -> Waits:
    """Returns statistics of waits in milliseconds; zeros if no job started."""
    started = sorted(wait / 1000 for wait in waits if wait is not None)
    never = len(waits) - len(started)
    if not started:
        return Waits(0, never, 0, 0, 0, 0, 0)
    mean_s = sum(started) / len(started)
    p50_s, p90_s, p99_s = (quantile(started, share) for share in (0.5, 0.9, 0.99))
    return Waits(len(started), never, mean_s, p50_s, p90_s, p99_s, started[-1])


def quantile(ordered: Sequence[float], share: float) -> float:
    """Returns the smallest value that at least this share of `ordered` does not exceed."""
    return ordered[max(0, min(len(ordered) - 1, -int(-share * len(ordered) // 1) - 1))]


def mean_of(groups: Sequence[Mapping[Group, Waits]], group: Group, statistic: str) -> float:
    """Returns the mean over futures of one statistic."""
    values = [getattr(waits[group], statistic) for waits in groups if group in waits]
    return sum(values) / len(values) if values else 0.0
