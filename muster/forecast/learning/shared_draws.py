"""Draws that all jobs of a future share, such as an uncertain median.

Futures with consecutive seeds spread evenly over the distribution (a Weyl sequence), as few futures are
simulated, and each has one such draw."""

from math import sqrt
from statistics import NormalDist

STEPS = tuple(sqrt(prime) for prime in (2, 3, 5, 7, 11))
"""Irrational steps, one for each stream: multiples of them modulo 1 are spread evenly."""


def standard_normal(seed: int, stream: int) -> float:
    """Returns the draw of a future; different streams are independent."""
    return NormalDist().inv_cdf((0.5 + (seed + 1) * STEPS[stream]) % 1)
