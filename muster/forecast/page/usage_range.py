"""The range of each queue's usage over several futures, for equal parts of the simulated time."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from muster.forecast.page.spread import HIGH, LOW
from muster.forecast.results.outcome import SimulationOutcome
from muster.forecast.results.waits import quantile

PARTS = 300
USAGE_SCALE = 10
"""Usage is a mean over time, stored in tenths of an accelerator."""


def usage_range(
    outcomes: Sequence[SimulationOutcome], queues: Sequence[str], end_ms: int
) -> Iterator[tuple[list[int], list[int]]]:
    """Yields the 10th and 90th percentile of accelerators in use for each queue: PARTS values each."""
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
