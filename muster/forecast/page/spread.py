"""Figures and usage over several futures: means, and 10th and 90th percentiles."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean

from muster.forecast.results.outcome import SimulationOutcome
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


PARTS = 300
USAGE_SCALE = 10
"""Usage is a mean over time, stored in tenths of an accelerator."""


def usage_range(
    outcomes: Sequence[SimulationOutcome], queues: Sequence[str], end_ms: int
) -> Iterator[tuple[list[int], list[int]]]:
    """Yields the 10th and 90th percentile of accelerators in use for each queue: PARTS values each, for equal
    parts of the simulated time."""
    futures = [_mean_usage(outcome, queues, end_ms) for outcome in outcomes]
    for index in range(len(queues)):
        low, high = [], []
        for part in range(PARTS):
            values = sorted(future[index][part] for future in futures)
            low.append(round(quantile(values, LOW) * USAGE_SCALE))
            high.append(round(quantile(values, HIGH) * USAGE_SCALE))
        yield low, high


def _mean_usage(outcome: SimulationOutcome, queues: Sequence[str], end_ms: int) -> list[list[float]]:
    """Returns the mean number of accelerators in use, by queue and part."""
    step = -(-end_ms // PARTS) or 1
    # A change of usage counts for a share of the part in which it happens, and for all of the later parts.
    partly = [[0] * (PARTS + 1) for _ in queues]
    fully = [[0] * (PARTS + 2) for _ in queues]
    index_of = {name: index for index, name in enumerate(queues)}
    queue_of = [index_of[job.queue] for job in outcome.jobs]
    attempts = outcome.attempts
    for job, reserved, ended in zip(attempts.job, attempts.reserved_ms, attempts.ended_ms, strict=True):
        accelerators = outcome.jobs[job].accelerators
        if accelerators == 0:
            continue
        queue = queue_of[job]
        for at, change in ((reserved, accelerators), (ended, -accelerators)):
            part = min(at // step, PARTS)
            partly[queue][part] += change * ((part + 1) * step - at)
            fully[queue][part + 1] += change
    return [
        [
            before + share / step
            for before, share in zip(accumulate(fully[index]), partly[index], strict=False)
        ][:PARTS]
        for index in range(len(queues))
    ]
