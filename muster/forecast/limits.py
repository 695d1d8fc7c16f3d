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


@dataclass(frozen=True, slots=True)
class ExceededLimit:
    """A limit that the changed side exceeds."""

    text: str
    by_change: bool  # False: the base exceeds it too, and by no less

    @property
    def sentence(self) -> str:
        """The sentence for reports."""
        heading = "limit exceeded" if self.by_change else "limit exceeded before the change too"
        return f"{heading}: {self.text}"


def exceeded(comparison: Comparison, limits: Sequence[WaitLimit]) -> Iterator[ExceededLimit]:
    """Yields each limit that the changed side exceeds, by its waits or because jobs never start."""
    for limit in limits:
        group = JobGroup(queue=limit.queue, priority_class=limit.priority_class)
        before, after = comparison.never.get(group, (0, 0))
        subject = f"{limit.queue} {limit.priority_class}".strip()
        if after > before:
            text = (
                f"{subject}: {after:,.0f} jobs never start (before: {before:,.0f}), so no wait is within "
                "the limit"
            )
            yield ExceededLimit(text, by_change=True)
        before_s, after_s = comparison.waits.get((group, f"{limit.statistic}_s"), (None, None))
        if after_s is not None and after_s > limit.max_s:
            by_change = before_s is None or before_s <= limit.max_s or round(before_s) < round(after_s)
            yield ExceededLimit(_text(subject, limit, before_s, after_s), by_change)


def _text(subject: str, limit: WaitLimit, before_s: float | None, after_s: float) -> str:
    before = "no job starts" if before_s is None else duration(before_s)
    return (
        f"{subject}: the {limit.statistic} wait is {duration(after_s)} (before: {before}); "
        f"the limit is {duration(limit.max_s)}"
    )
