"""Estimates the remaining time of builds from the CPU time consumed so far."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

ENOUGH_COMPILED = 0.05
SOONEST_SECONDS = 5.0
"""The time after which a run's share of the CPU can be measured."""


@dataclass(frozen=True)
class Work:
    """CPU seconds of a build: estimated for an empty build cache, and consumed so far; the share of its
    packages that are compiled."""

    estimated: float
    consumed: float = 0.0
    finished: bool = False
    compiled: float = 0.0

    def expected(self, factor: float) -> float:
        """Returns the CPU time of the whole build: extrapolated if enough packages are compiled, else
        the estimate times a factor."""
        if self.finished or self.compiled < ENOUGH_COMPILED:
            return self.estimated * factor
        return self.consumed / self.compiled


def seconds_left(works: Sequence[Work], elapsed: float) -> float | None:
    """Returns the seconds until all builds are finished, at the share of the CPU that they had so far.

    None soon after the start; 0 if builds take longer than estimated. If finished builds took more CPU than
    estimated, as they do while cores are shared, builds that have not started are expected to, too.
    """
    consumed = sum(work.consumed for work in works)
    if elapsed < SOONEST_SECONDS or consumed <= 0:
        return None
    finished = [work for work in works if work.finished]
    estimate = sum(work.estimated for work in finished)
    factor = max(1.0, sum(work.consumed for work in finished) / estimate) if estimate else 1.0
    running = [work for work in works if not work.finished]
    remaining = sum(max(work.expected(factor) - work.consumed, 0.0) for work in running)
    return remaining * elapsed / consumed


def remaining_time(works: Sequence[Work], elapsed: float) -> str:
    """Returns the remaining time, for a progress line."""
    seconds = seconds_left(works, elapsed)
    if seconds is None:
        return "estimating"
    return f"about {seconds:.0f} s left" if seconds > 0 else "longer than estimated"


def cpu_seconds(process_group: int) -> float:
    """Returns the CPU time of all processes of a group, and of their children that ended."""
    total = 0.0
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == process_group:
                total += sum(process.cpu_times()[:4])  # user, system, and both of children
        except (ProcessLookupError, PermissionError, psutil.Error):
            continue  # has ended since
    return total
