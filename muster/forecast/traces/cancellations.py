"""The option for jobs that were cancelled before they started."""

from dataclasses import replace
from enum import StrEnum

from muster.forecast.traces.trace import Trace

SKIPPED = "cancelled before it started"


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
            return replace(
                trace, jobs=jobs, skipped={**trace.skipped, SKIPPED: count} if count else trace.skipped
            )
        case Cancellations.RUN:
            jobs = [
                job if job.cancelled_ms is None else replace(job, cancelled_ms=None) for job in trace.jobs
            ]
            return replace(trace, jobs=jobs)
