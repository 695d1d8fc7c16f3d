"""An independent simulator of one FIFO queue, as an oracle of forecasts. It shares no code with the product.

At each second, jobs that ended or were cancelled leave first; then the queue is tried in order of submission;
then the jobs of this second arrive, and the queue is tried again.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class FifoJob:
    """A job: times in seconds, and the accelerators of all its pods."""

    submit: int
    run: int
    accelerators: int
    cancelled: int | None = None  # seconds from its submission until it leaves, waiting or running


def starts(jobs: Sequence[FifoJob], accelerators: int, strict: bool) -> list[int | None]:
    """Returns the start of each job, in the order of `jobs`; None if it leaves or never fits.

    In a strict queue, no job overtakes the first; otherwise, any job that fits may start."""
    started: list[int | None] = [None] * len(jobs)
    ends: dict[int, int] = {}  # of running jobs
    waiting: list[int] = []
    arrivals = sorted(range(len(jobs)), key=lambda index: jobs[index].submit)

    def start_all(now: int) -> None:
        free = accelerators - sum(jobs[index].accelerators for index in ends)
        for index in list(waiting):
            if jobs[index].accelerators <= free:
                waiting.remove(index)
                started[index] = now
                ends[index] = _end(jobs[index], now)
                free -= jobs[index].accelerators
            elif strict:
                break

    while True:
        now = _next(jobs, arrivals, waiting, ends)
        if now is None:
            return started
        for index in [index for index, end in ends.items() if end <= now]:
            del ends[index]
        waiting[:] = [
            index for index in waiting if _leaves(jobs[index]) is None or _leaves(jobs[index]) != now
        ]
        start_all(now)
        while arrivals and jobs[arrivals[0]].submit == now:
            index = arrivals.pop(0)
            if jobs[index].cancelled != 0:
                waiting.append(index)
        start_all(now)


def _next(
    jobs: Sequence[FifoJob], arrivals: Sequence[int], waiting: Sequence[int], ends: dict[int, int]
) -> int | None:
    times = [*ends.values(), *(jobs[index].submit for index in arrivals[:1])]
    times += [leaves for index in waiting if (leaves := _leaves(jobs[index])) is not None]
    return min(times, default=None)


def _leaves(job: FifoJob) -> int | None:
    return None if job.cancelled is None else job.submit + job.cancelled


def _end(job: FifoJob, started: int) -> int:
    leaves = _leaves(job)
    return started + job.run if leaves is None else leaves
