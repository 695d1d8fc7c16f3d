"""Submissions of synthetic jobs: independent intervals on a clock that runs faster during busy hours."""

import math
from collections.abc import Iterator, Sequence
from random import Random

HOUR_MS = 3_600_000
HOURS_A_WEEK = 7 * 24
WEEK_MS = HOURS_A_WEEK * HOUR_MS


def week_of(hours: Sequence[float], weekend: float) -> tuple[float, ...]:
    """Returns the rate of each hour of a week, 1 on average, from the rates of a day's hours and a factor for
    days 6 and 7."""
    rates = [rate * (weekend if day >= 5 else 1.0) for day in range(7) for rate in hours]
    mean = sum(rates) / len(rates)
    return tuple(rate / mean for rate in rates)


def times(random: Random, mean_ms: float, shape: float, week: Sequence[float]) -> Iterator[float]:
    """Yields an infinite series of times, starting at 0. Intervals are Weibull distributed (shape 1: a
    Poisson process; below 1: bursts) with mean `mean_ms`; the rates of the week then stretch and compress
    them, hour by hour."""
    scale = mean_ms / math.gamma(1 + 1 / shape)
    hour, left_ms = 0, float(HOUR_MS)  # in this hour
    while True:
        weeks, interval_ms = divmod(random.weibullvariate(scale, shape), WEEK_MS)
        hour += int(weeks) * HOURS_A_WEEK  # the average rate of a full week is 1
        while (passed_ms := interval_ms / _rate(week, hour)) > left_ms:
            interval_ms -= left_ms * _rate(week, hour)
            hour, left_ms = hour + 1, float(HOUR_MS)
        left_ms -= passed_ms
        yield (hour + 1) * HOUR_MS - left_ms


def _rate(week: Sequence[float], hour: int) -> float:
    return week[hour % HOURS_A_WEEK]
