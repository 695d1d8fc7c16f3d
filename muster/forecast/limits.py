"""Limits of waiting times that a change may not exceed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from muster.forecast.report.text import duration
from muster.forecast.results.comparison import Comparison
from muster.forecast.results.waits import JobGroup


@dataclass(frozen=True, slots=True)
class WaitLimit:
    """An upper limit of a statistic (mean, p50, p90, p99) of a queue's waits; of all its jobs if
    `priority_class` is empty."""

    queue: str
    priority_class: str
    statistic: str
    max_s: float


def exceeded(comparison: Comparison, limits: Sequence[WaitLimit]) -> Iterator[str]:
    """Yields a sentence for each limit that the changed side exceeds, by its waits or because jobs never
    start."""
    for limit in limits:
        group = JobGroup(queue=limit.queue, priority_class=limit.priority_class)
        before, after = comparison.never.get(group, (0, 0))
        subject = f"{limit.queue} {limit.priority_class}".strip()
        if after > before:
            yield (
                f"{subject}: {after:,.0f} jobs never start (before: {before:,.0f}), so no wait is within "
                "the limit"
            )
        before_s, after_s = comparison.waits.get((group, f"{limit.statistic}_s"), (0.0, 0.0))
        if after_s > limit.max_s:
            yield (
                f"{subject}: the {limit.statistic} wait is {duration(after_s)} (before: "
                f"{duration(before_s)}); the limit is {duration(limit.max_s)}"
            )
