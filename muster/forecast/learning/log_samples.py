"""Samples of a duration, smoothed on a logarithmic scale.

A duration that has not ended yet is longer than the sample. Its weight is spread over the longer samples, as
Kaplan and Meier (1958) do: without it, estimates would be too short, as short durations end first."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from math import log, sqrt
from random import Random

PRIOR_SPREAD = 1.0
"""Standard deviation of the logarithm that is assumed before there are samples, with the weight of one."""

SMOOTHING = -0.4
"""The exponent of the number of samples in the width of the smoothing: a few samples say little about values
between and beyond them."""

SAMPLES_MAX = 500
"""Only the latest samples are used: users and clusters change."""

BEYOND = 0.8
"""Standard deviations from the longest duration that has not ended to its end, if all samples are shorter:
the mean of the upper half of a normal distribution."""

REDRAWS_MAX = 5
JUST_ABOVE = 1e-3
WEIGHT_MIN = 1e-9


class LogSamples:
    """Positive numbers, the latest last, and lower bounds of others."""

    def __init__(self, values: Iterable[float], lower_bounds: Sequence[float] = ()) -> None:
        latest = [log(value) for value in list(values)[-SAMPLES_MAX:]]
        self.count = len(latest)
        bounds = [log(bound) for bound in lower_bounds]
        weighted = list(_weighted(latest, bounds))
        observed = sum(weight for _, weight in weighted)
        mean = sum(value * weight for value, weight in weighted) / observed if weighted else 0.0
        squares = sum((value - mean) ** 2 * weight for value, weight in weighted)
        self.spread = sqrt((self.count * squares + PRIOR_SPREAD**2) / (self.count + 1))
        if bounds and (beyond := 1 - observed) > WEIGHT_MIN:
            longest = max(bounds)
            weighted.append((longest + BEYOND * self.spread, beyond))
        self._logs = [value for value, _ in weighted]
        self._passed = [0.0, *accumulate(weight for _, weight in weighted)]  # weight of the shorter samples
        self._width = self.spread * self.count**SMOOTHING if self.count else 0.0

    def share_above(self, bound: float, shift: float) -> float:
        """Returns the share of the samples, shifted by `shift`, whose logarithm is above `bound`."""
        first = bisect_right(self._logs, bound - shift)
        return 1 - self._passed[first] / self._passed[-1] if first < len(self._logs) else 0.0

    def drawn(self, bound: float, shift: float, random: Random) -> float:
        """Draws a logarithm above `bound`, which must be below some sample."""
        first = bisect_right(self._logs, bound - shift)
        passed, end = self._passed[first], self._passed[-1]
        index = bisect_right(self._passed, passed + random.random() * (end - passed), first) - 1
        value = self._logs[min(index, len(self._logs) - 1)] + shift
        for _ in range(REDRAWS_MAX):
            smoothed = value + random.gauss(0, self._width)
            if smoothed > bound:
                return smoothed
        return max(value, bound + JUST_ABOVE)


def _weighted(values: Iterable[float], lower_bounds: Iterable[float]) -> Iterator[tuple[float, float]]:
    """Yields the values in order, each with its share of the total weight; the share that is left is beyond
    the highest bound."""
    points = sorted([*((value, False) for value in values), *((bound, True) for bound in lower_bounds)])
    remaining = 1.0
    for number, (value, is_bound) in enumerate(points):
        if not is_bound:
            weight = remaining / (len(points) - number)
            remaining -= weight
            yield value, weight
