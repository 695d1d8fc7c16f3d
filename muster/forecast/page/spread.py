"""A figure over several futures."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from muster.forecast.results.waits import quantile

LOW, HIGH = 0.1, 0.9


@dataclass(frozen=True, slots=True)
class Spread:
    """The mean of a figure over the futures, and its 10th and 90th percentile."""

    mean: float
    low: float
    high: float

    @classmethod
    def over(cls, figures: Sequence[float]) -> "Spread":
        """Returns the spread of a figure, given its value in each future."""
        ordered = sorted(figures)
        return cls(fmean(ordered), quantile(ordered, LOW), quantile(ordered, HIGH))


@dataclass(frozen=True, slots=True)
class PairedChange:
    """The mean change of a figure between two sides, and how many futures agree on its direction."""

    mean: float
    agree: int
    futures: int

    @classmethod
    def between(cls, base: Sequence[float], changed: Sequence[float]) -> "PairedChange":
        """Returns the change over pairs of futures."""
        changes = [after - before for before, after in zip(base, changed, strict=True)]
        mean = fmean(changes)
        return cls(mean, sum(_sign(change) == _sign(mean) for change in changes), len(changes))


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
