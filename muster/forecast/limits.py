"""Limits of waiting times that a change may not exceed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from muster.forecast.report.text import duration
from muster.forecast.results.comparison import Comparison
from muster.forecast.results.waits import Group


@dataclass(frozen=True, slots=True)
class WaitLimit:
    """The most that a statistic (mean, p50, p90, p99) of a queue's waits may be; of all its jobs if
    `priority_class` is empty."""

    queue: str
    priority_class: str
    statistic: str
    max_s: float


def exceeded(comparison: Comparison, limits: Sequence[WaitLimit]) -> Iterator[str]:
    """Yields a sentence for each limit that the changed side exceeds: by waits, or as jobs never start."""
    for limit in limits:
        group = Group(queue=limit.queue, priority_class=limit.priority_class)
        before, after = comparison.never.get(group, (0, 0))
        if after > before:
            of = f"{limit.queue} {limit.priority_class}".strip()
            yield f"{of}: {after:,.0f} jobs never start, were {before:,.0f}; so no wait is within the limit"
        for found in comparison.differences:
            if (found.group, found.statistic) == (
                group,
                f"{limit.statistic}_s",
            ) and found.changed_s > limit.max_s:
                of = f"{limit.queue} {limit.priority_class}".strip()
                yield (
                    f"{of}: the {limit.statistic} wait is {duration(found.changed_s)}, "
                    f"was {duration(found.base_s)}; the limit is {duration(limit.max_s)}"
                )
