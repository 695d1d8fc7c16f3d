"""Later submissions: a part of the past, repeated."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import count, islice, takewhile
from math import exp, hypot, sqrt
from random import Random

from muster.forecast.learning.normal_draws import standard_normal
from muster.forecast.learning.past_job import PastJob

DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS
JOBS_MIN = 5
"""Fewer past jobs say nothing about further ones."""
ARRIVALS_MAX = 400
"""Number of jobs that are submitted in a future: bounds its time."""
RATE_DRIFT = 0.15
"""Standard deviation by which the logarithm of the rate of submissions changes from past to future."""
RATE_STREAM = 3
UNTIL_MAX = 20_000
"""Number of jobs that are submitted in a future with an end."""


class Arrivals:
    """Past jobs in order of their submission; times are in milliseconds on the clock of the estimate."""

    def __init__(self, past: Iterable[PastJob]) -> None:
        self._jobs = sorted(past, key=lambda past_job: past_job.job.submit_ms)
        self._times_ms = [past_job.job.submit_ms for past_job in self._jobs]

    @property
    def count(self) -> int:
        """The number of past jobs from which further ones are drawn; 0 if there are too few."""
        return len(self._jobs) if len(self._jobs) >= JOBS_MIN else 0

    def rate_of_future(self, seed: int) -> float:
        """Returns the number of submissions in a future, relative to the past: uncertain as that of the past,
        and as demand changes."""
        if not self.count:
            return 1.0
        deviation = hypot(RATE_DRIFT, 1 / sqrt(self.count))
        return exp(standard_normal(seed, RATE_STREAM) * deviation)

    def drawn(self, now_ms: int, random: Random, until_ms: int | None = None) -> list[tuple[PastJob, int]]:
        """Returns jobs, each with the time from now until its submission, in order. The part of the past that
        they repeat begins at the same time of a day, and of a week if there are two weeks; its end is
        followed by its beginning. The past is repeated until `until_ms`; without it, up to ARRIVALS_MAX
        jobs."""
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
        repeated = self._from(begin_ms, offset_ms % span_ms, span_ms)
        if until_ms is None:
            return list(islice(repeated, ARRIVALS_MAX))
        later = takewhile(lambda arrival: now_ms + arrival[1] < until_ms, repeated)
        return list(islice(later, UNTIL_MAX))

    def _from(self, begin_ms: int, offset_ms: int, span_ms: int) -> Iterator[tuple[PastJob, int]]:
        """Yields the jobs of a part of the past from an offset on, again and again."""
        first = bisect_left(self._times_ms, begin_ms + offset_ms)
        end = bisect_left(self._times_ms, begin_ms + span_ms)
        for shift_ms in count(-offset_ms, span_ms):
            for past_job in islice(self._jobs, first, end):
                yield past_job, past_job.job.submit_ms - begin_ms + shift_ms
            first = 0
