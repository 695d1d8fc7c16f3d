"""Samples of a duration, smoothed on a logarithmic scale."""

from bisect import bisect_right
from collections.abc import Iterable
from math import log, sqrt
from random import Random

PRIOR_SPREAD = 1.0
"""Standard deviation of the logarithm that is assumed before there are samples, with the weight of one."""

SMOOTHING = -0.4
"""The exponent of the number of samples in the width of the smoothing: a few samples say little about values
between and beyond them."""

SAMPLES_MAX = 500
"""Only the latest samples are used: users and clusters change."""

REDRAWS_MAX = 5
JUST_ABOVE = 1e-3


class LogSamples:
    """Positive numbers, the latest last."""

    def __init__(self, values: Iterable[float]) -> None:
        latest = list(values)[-SAMPLES_MAX:]
        self._logs = sorted(log(value) for value in latest)
        self.count = len(self._logs)
        mean = sum(self._logs) / self.count if self.count else 0.0
        squares = sum((value - mean) ** 2 for value in self._logs)
        self.spread = sqrt((squares + PRIOR_SPREAD**2) / (self.count + 1))
        self._width = self.spread * self.count**SMOOTHING if self.count else 0.0

    def share_above(self, bound: float, shift: float) -> float:
        """Returns the share of the samples, shifted by `shift`, whose logarithm is above `bound`."""
        return (self.count - bisect_right(self._logs, bound - shift)) / self.count if self.count else 0.0

    def drawn(self, bound: float, shift: float, random: Random) -> float:
        """Draws a logarithm above `bound`, which must be below some sample."""
        first = bisect_right(self._logs, bound - shift)
        value = self._logs[first + int(random.random() * (self.count - first))] + shift
        for _ in range(REDRAWS_MAX):
            smoothed = value + random.gauss(0, self._width)
            if smoothed > bound:
                return smoothed
        return max(value, bound + JUST_ABOVE)
