"""Later submissions: a part of the past, repeated."""

from bisect import bisect_left
from collections.abc import Iterable
from itertools import islice, takewhile
from random import Random

from muster.forecast.placement import PlacedJob

DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS
JOBS_MIN = 20
"""Fewer past jobs say nothing about further ones."""
ARRIVALS_MAX = 100
"""Number of jobs that are submitted in a future: bounds its time."""
UNTIL_MAX = 20_000
"""Number of jobs that are submitted in a future with an end."""


class Arrivals:
    """Past jobs in order of their submission; times are in milliseconds on the clock of the estimate."""

    def __init__(self, jobs: Iterable[PlacedJob]) -> None:
        self._jobs = sorted(jobs, key=lambda job: job.submit_ms)
        self._times_ms = [job.submit_ms for job in self._jobs]

    @property
    def count(self) -> int:
        """The number of past jobs from which further ones are drawn; 0 if there are too few."""
        return len(self._jobs) if len(self._jobs) >= JOBS_MIN else 0

    def drawn(self, now_ms: int, random: Random, until_ms: int | None = None) -> list[tuple[PlacedJob, int]]:
        """Returns jobs, each with the time from now until its submission, in order. The part of the past that
        they repeat begins at the same time of a day, and of a week if there are two weeks; its end is
        followed by its beginning. The past is repeated until `until_ms`; once without it."""
        if not self.count:
            return []
        begin_ms = self._times_ms[0]
        span_ms = self._times_ms[-1] - begin_ms
        if span_ms <= 0:
            return []
        period_ms = next((period for period in (WEEK_MS, DAY_MS) if span_ms >= 2 * period), None)
        if period_ms is None:
            offset_ms = int(random.random() * span_ms)
        else:
            # the past is repeated in whole periods, so that its end and beginning fit together
            span_ms -= span_ms % period_ms
            phase_ms = (now_ms - begin_ms) % period_ms
            offset_ms = phase_ms + period_ms * int(random.random() * (span_ms // period_ms))
        offset_ms %= span_ms
        if until_ms is None:
            return self._from(begin_ms, offset_ms, span_ms, ARRIVALS_MAX)
        once = self._from(begin_ms, offset_ms, span_ms, UNTIL_MAX)
        repeated = (
            (job, after_ms + shift_ms)
            for shift_ms in range(0, until_ms - now_ms, span_ms)
            for job, after_ms in once
        )
        later = takewhile(lambda arrival: now_ms + arrival[1] < until_ms, repeated)
        return list(islice(later, UNTIL_MAX))

    def _from(self, begin_ms: int, offset_ms: int, span_ms: int, most: int) -> list[tuple[PlacedJob, int]]:
        first = bisect_left(self._times_ms, begin_ms + offset_ms)
        end = bisect_left(self._times_ms, begin_ms + span_ms)
        rounds = ((first, end, -offset_ms), (0, first, span_ms - offset_ms))
        drawn = [
            (job, job.submit_ms - begin_ms + shift_ms)
            for start, stop, shift_ms in rounds
            for job in self._jobs[start:stop][:most]
        ]
        return drawn[:most]
