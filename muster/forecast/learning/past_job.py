"""Past jobs, as a trace, a journal or the Workloads of a cluster record them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from muster.forecast.estimate_outcome import EstimateOutcome
from muster.forecast.placement import PlacedJob
from muster.forecast.traces.trace import TraceJob


@dataclass(frozen=True, slots=True)
class PastJob:
    """A job that ran, waits, or was cancelled. Times are durations; None: not recorded, or not over yet."""

    job: PlacedJob  # `run_ms` is the time from its start until its end
    limit_ms: int | None = None  # the run time limit that it declared
    waited_ms: int | None = None  # from its submission until its admission; None: it was never admitted
    provisioning_ms: int | None = None  # from its quota reservation until its nodes were provided
    start_up_ms: int | None = None  # from its admission until its pods were ready
    flavor: str = ""  # of its accelerators
    ran_ms: int | None = None  # of a job that runs: how long until now
    waiting_ms: int | None = None  # of a job that waits: how long until now
    estimates: tuple[EstimateOutcome, ...] = ()  # of its start


def past_jobs(trace: Sequence[TraceJob], placed: Iterable[PlacedJob]) -> list[PastJob]:
    """Returns the placed jobs of a trace with their records."""
    return [
        PastJob(
            job,
            (recorded := trace[job.number]).limit_ms,
            recorded.waited_ms,
            recorded.provisioning_ms,
            recorded.start_up_ms,
            recorded.flavor,
            estimates=recorded.estimates,
        )
        for job in placed
    ]
