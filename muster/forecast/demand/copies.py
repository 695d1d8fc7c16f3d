"""Copies of jobs, and jobs that are left out.

Draws are keyed by the name of a job, so a job is copied or left out independently of all others, and all jobs
of a smaller demand are also in a larger one.
"""

from dataclasses import replace
from random import Random

from muster.forecast.traces.trace import TraceJob

SHIFT_MS_MAX = 3_600_000
"""Time by which a copy is submitted earlier or later than its original: cycles of a day remain, but copies
are no bursts."""


def count(job: TraceJob, occurrence: int, factor: float) -> int:
    """Returns the number of jobs that replace a job if demand is scaled by `factor`: for 1.3, two for three
    of ten jobs. `occurrence` is the number of earlier jobs with its name."""
    whole = int(factor)
    return whole + (Random(f"scale/{occurrence}/{job.name}").random() < factor - whole)


def copied(
    job: TraceJob, name: str, end_ms: int, queue: str | None = None, user: str | None = None
) -> TraceJob:
    """Returns a copy with another name, submitted up to an hour earlier or later, from 0 to `end_ms`. A copy
    has no recorded wait, delays or estimates."""
    shift_ms_max = min(SHIFT_MS_MAX, end_ms // 2)
    at_ms = abs(job.submit_ms + Random(f"copy/{name}").randint(-shift_ms_max, shift_ms_max))
    return replace(
        job,
        name=name,
        submit_ms=min(at_ms, 2 * end_ms - at_ms),
        queue=job.queue if queue is None else queue,
        user=job.user if user is None else user,
        waited_ms=None,
        provisioning_ms=None,
        start_up_ms=None,
        estimates=(),
    )
