"""Weeks of a trace in random order, as the demand of futures (a block bootstrap).

A block is a whole week, so cycles of days and weeks and the bursts within a week remain. The blocks of a
future depend on its seed alone: both sides of a plan have the same demand.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from random import Random

from muster.forecast.placement import PlacedJob
from muster.forecast.traces.trace import Trace

DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS
BLOCKS_MIN = 2
MISSING_MAX = 24
"""A last block is complete if at most this part of it, an hour of a day, is after the last submission."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """The blocks of a trace. A block that the trace ends in is not drawn, but a part of another one takes its
    place."""

    block_ms: int  # a week, or a day
    blocks: int  # number of complete blocks
    span_ms: int  # from the first submission until the last
    jobs: int  # number of jobs of the trace

    @property
    def described(self) -> str:
        """The sentence for reports."""
        weekly = self.block_ms == WEEK_MS
        lost = "" if weekly else "; the trace is too short for weeks"
        return (
            f"each future is drawn from {self.blocks} {'weeks' if weekly else 'days'} of the trace, with "
            f"repetitions, so that ranges include demand{lost}"
        )

    def drawn(self, jobs: Sequence[PlacedJob], seed: int) -> list[PlacedJob]:
        """Returns the jobs of a future in order of submission. A job that is moved has another name, and thus
        other draws."""
        submit = attrgetter("submit_ms")
        future: list[PlacedJob] = []
        for slot in range(self.span_ms // self.block_ms + 1):
            block = Random(f"resample/{seed}/{slot}").randrange(self.blocks)
            begin_ms, moved_ms = block * self.block_ms, (slot - block) * self.block_ms
            length_ms = min(self.block_ms, self.span_ms + 1 - slot * self.block_ms)
            first = bisect_left(jobs, begin_ms, key=submit)
            end = bisect_left(jobs, begin_ms + length_ms, lo=first, key=submit)
            future += (
                replace(
                    job,
                    name=f"{job.name}@{slot + 1}" if moved_ms else job.name,
                    submit_ms=job.submit_ms + moved_ms,
                    number=slot * self.jobs + job.number,
                )
                for job in jobs[first:end]
            )
        return future


def jobs_of_future(
    jobs: Sequence[PlacedJob], resampling: Resampling | None, seed: int
) -> Sequence[PlacedJob]:
    """Returns the jobs of a future; without resampling, each future has all jobs at their recorded times."""
    return jobs if resampling is None else resampling.drawn(jobs, seed)


def resampling(trace: Trace) -> Resampling | None:
    """Returns the weeks of a trace; its days if it has less than two weeks; None if it has less than two
    days."""
    span_ms = trace.jobs[-1].submit_ms if trace.jobs else 0
    for block_ms in (WEEK_MS, DAY_MS):
        blocks = (span_ms + 1 + block_ms // MISSING_MAX) // block_ms
        if blocks >= BLOCKS_MIN:
            return Resampling(block_ms, blocks, span_ms, len(trace.jobs))
    return None
