"""The option for jobs that were cancelled before they started."""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

from muster.forecast.traces.trace import Trace

SKIPPED = "cancelled before they started"
RUNS = "cancelled before they started: they run for a drawn time"


class Cancellations(StrEnum):
    """Treatments of jobs that were cancelled before they started."""

    LEAVE = "leave"  # they leave the queue after the recorded time
    SKIP = "skip"  # they are never submitted
    RUN = "run"  # they are not cancelled, and run for a drawn time


def treated(trace: Trace, treatment: Cancellations) -> Trace:
    """Returns the trace with its cancelled jobs treated this way."""
    match treatment:
        case Cancellations.LEAVE:
            return trace
        case Cancellations.SKIP:
            jobs = [job for job in trace.jobs if job.cancelled_ms is None]
            count = len(trace.jobs) - len(jobs)
            return replace(trace, jobs=jobs, skipped=_counted(trace.skipped, SKIPPED, count))
        case Cancellations.RUN:
            jobs = [
                job if job.cancelled_ms is None else replace(job, cancelled_ms=None) for job in trace.jobs
            ]
            count = sum(job.cancelled_ms is not None for job in trace.jobs)
            return replace(trace, jobs=jobs, adjusted=_counted(trace.adjusted, RUNS, count))


def _counted(counts: Mapping[str, int], reason: str, count: int) -> Mapping[str, int]:
    return {**counts, reason: count} if count else counts
