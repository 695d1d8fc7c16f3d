"""Draws from normal distributions: those that all jobs of a future share, such as an uncertain median, and
those above a value that has passed.

Futures with consecutive seeds spread evenly over the distribution of a shared draw (a Weyl sequence), as few
futures are simulated, and each has one such draw."""

from math import sqrt
from random import Random
from statistics import NormalDist

PROBABILITY_MAX = 1 - 1e-9

STEPS = tuple(sqrt(prime) for prime in (2, 3, 5, 7, 11))
"""Irrational steps, one for each stream: multiples of them modulo 1 are spread evenly."""


def standard_normal(seed: int, stream: int) -> float:
    """Returns the draw of a future; different streams are independent."""
    return NormalDist().inv_cdf((0.5 + (seed + 1) * STEPS[stream]) % 1)


def drawn_above(normal: NormalDist, passed: float, random: Random) -> float:
    """Draws a value of the distribution above its quantile `passed`."""
    quantile = min(PROBABILITY_MAX, passed + (1 - passed) * random.random())
    return normal.inv_cdf(max(quantile, 1 - PROBABILITY_MAX))
