"""Limits of waiting times that a change may not exceed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from types import MappingProxyType

from muster.forecast.report.text import duration, share
from muster.forecast.results.comparison import Comparison
from muster.forecast.results.waits import JobGroup

WITHIN = "within"
"""The statistic of service levels: the share of jobs that start within a time."""


@dataclass(frozen=True, slots=True)
class WaitLimit:
    """An upper limit of a statistic (mean, p50, p90, p95, p99) of a queue's waits; of all its jobs if
    `priority_class` is empty. With the statistic `within`, the least share of jobs that wait at most
    `max_s`.

    Values of a limit are better if they are smaller: waits in seconds, or shares of late jobs."""

    queue: str
    priority_class: str
    statistic: str
    max_s: float
    min_share: float = 0.0  # of `within`

    @property
    def group(self) -> JobGroup:
        """The jobs that it applies to."""
        return JobGroup(queue=self.queue, priority_class=self.priority_class)

    @property
    def bound(self) -> float:
        """The largest value that meets the limit."""
        return 1 - self.min_share if self.statistic == WITHIN else self.max_s

    @property
    def named(self) -> str:
        """The limit without its bound, such as `inference p90` or `all within 10m00s`."""
        statistic = f"{WITHIN} {duration(self.max_s)}" if self.statistic == WITHIN else self.statistic
        return " ".join(part for part in (self.queue or "all", self.priority_class, statistic) if part)

    @property
    def bound_text(self) -> str:
        """The bound with its sign, such as `<= 1h00m` or `>= 95.0%`."""
        return f">= {share(self.min_share)}" if self.statistic == WITHIN else f"<= {duration(self.max_s)}"

    def is_exceeded_by(self, value: float) -> bool:
        """Returns whether a value exceeds the bound; rounded, as 1 - 0.95 is more than 0.05."""
        return round(value, 9) > round(self.bound, 9)

    def rounded(self, value: float) -> float:
        """Returns a value with the precision of reports: in seconds, or tenths of a percent."""
        return round(value, 3) if self.statistic == WITHIN else round(value)

    def text(self, value: float) -> str:
        """Returns a value as text; a share of late jobs is shown as the share of jobs in time."""
        if self.statistic == WITHIN:
            return share(1 - value)
        return "never" if value == inf else duration(value)


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


Levels = Mapping[tuple[JobGroup, float], tuple[float | None, float | None]]
"""The share of jobs that start within a time (seconds) before and after a change; None without jobs."""


def exceeded(
    comparison: Comparison, limits: Sequence[WaitLimit], levels: Levels = MappingProxyType({})
) -> Iterator[ExceededLimit]:
    """Yields each limit that the changed side exceeds, by its waits or because jobs never start. `levels` has
    the shares of all limits of service levels."""
    for limit in limits:
        before, after = comparison.never.get(limit.group, (0, 0))
        subject = f"{limit.queue} {limit.priority_class}".strip() or "all queues"
        if after > before and limit.statistic != WITHIN:
            text = (
                f"{subject}: {after:,.0f} jobs never start (before: {before:,.0f}), so no wait is within "
                "the limit"
            )
            yield ExceededLimit(text, by_change=True)
        value_before, value = _values(comparison, limit, levels)
        if value is not None and limit.is_exceeded_by(value):
            by_change = (
                value_before is None
                or not limit.is_exceeded_by(value_before)
                or limit.rounded(value_before) < limit.rounded(value)
            )
            yield ExceededLimit(f"{subject}: {_text(limit, value_before, value)}", by_change)


def _values(comparison: Comparison, limit: WaitLimit, levels: Levels) -> tuple[float | None, float | None]:
    """Returns the values of the limit's statistic before and after the change."""
    if limit.statistic != WITHIN:
        return comparison.waits.get((limit.group, f"{limit.statistic}_s"), (None, None))
    before, after = levels[limit.group, limit.max_s]
    return None if before is None else 1 - before, None if after is None else 1 - after


def _text(limit: WaitLimit, before: float | None, value: float) -> str:
    if limit.statistic == WITHIN:
        earlier = "no jobs" if before is None else limit.text(before)
        return (
            f"{limit.text(value)} of the jobs start within {duration(limit.max_s)} (before: {earlier}); the "
            f"limit is {share(limit.min_share)}"
        )
    earlier = "no job starts" if before is None else limit.text(before)
    return (
        f"the {limit.statistic} wait is {limit.text(value)} (before: {earlier}); the limit is "
        f"{duration(limit.max_s)}"
    )
