"""The most delayed jobs: with the largest growth of their wait between two sides, or the longest
wait in one."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from muster.forecast.results.comparison import SUFFERERS, Sufferer
from muster.forecast.results.outcome import SimulatedJob, SimulationOutcome
from muster.forecast.results.waits import waits_ms


@dataclass(frozen=True, slots=True)
class Delayed:
    """A job and its wait in each side, in seconds."""

    job: SimulatedJob
    waits_s: tuple[float, ...]
    started: bool = True  # False: the last wait is a lower bound


def longest_waits(outcome: SimulationOutcome) -> list[Delayed]:
    """Returns the jobs with the longest waits, up to the end for jobs that never start; ties by
    submission."""
    waits = [
        _longest_wait(outcome, job, wait) for job, wait in zip(outcome.jobs, waits_ms(outcome), strict=True)
    ]
    longest = heapq.nsmallest(SUFFERERS, range(len(waits)), key=lambda index: -waits[index][0])
    return [
        Delayed(outcome.jobs[index], (waits[index][0] / 1000,), waits[index][1])
        for index in longest
        if waits[index][0] > 0
    ]


def _longest_wait(outcome: SimulationOutcome, job: SimulatedJob, wait_ms: int | None) -> tuple[int, bool]:
    """Returns a job's wait, up to its cancellation or the end if it does not start, and whether it starts."""
    if wait_ms is not None:
        return wait_ms, True
    return (outcome.end_ms - job.submit_ms if job.cancelled_ms is None else job.cancelled_ms), False


def most_delayed(
    sufferers: Sequence[Sufferer], base: SimulationOutcome, changed: SimulationOutcome
) -> list[Delayed]:
    """Returns the jobs of the drawn future whose wait grows most, from the comparison."""
    jobs = {job.number: job for job in base.jobs}
    return [
        _delayed(jobs[sufferer.number], sufferer, changed.end_ms)
        for sufferer in sufferers
        if sufferer.number in jobs
    ]


def _delayed(job: SimulatedJob, sufferer: Sufferer, end_ms: int) -> Delayed:
    if sufferer.changed_s is None:
        return Delayed(job, (sufferer.base_s, (end_ms - job.submit_ms) / 1000), started=False)
    return Delayed(job, (sufferer.base_s, sufferer.changed_s))
