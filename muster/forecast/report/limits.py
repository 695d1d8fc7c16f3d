"""Limits of a forecast: their values over the futures, as a table and as data."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean
from typing import Any

from muster.forecast.limits import WaitLimit
from muster.forecast.recommend.goals import applies_to, measured
from muster.forecast.report.tables import Table
from muster.forecast.results.outcome import SimulationOutcome


@dataclass(frozen=True, slots=True)
class LimitResult:
    """A limit and its values: seconds, inf if a job that never starts decides it, or shares of late jobs."""

    limit: WaitLimit
    values: Sequence[float]  # by future

    @property
    def mean(self) -> float:
        """The mean over the futures, which decides."""
        return fmean(self.values)

    @property
    def is_met(self) -> bool:
        """True if the mean meets the limit."""
        return not self.limit.is_exceeded_by(self.mean)

    @property
    def futures(self) -> int:
        """The number of futures that meet the limit."""
        return sum(not self.limit.is_exceeded_by(value) for value in self.values)


def limit_results(limits: Sequence[WaitLimit], outcomes: Sequence[SimulationOutcome]) -> list[LimitResult]:
    """Returns the result of each limit. A limit without jobs has the value 0."""
    values = [measured(outcome, limits).values for outcome in outcomes]
    return [
        LimitResult(limit, column) for limit, column in zip(limits, zip(*values, strict=True), strict=True)
    ]


def results_with_jobs(
    limits: Sequence[WaitLimit], outcomes: Sequence[SimulationOutcome]
) -> list[LimitResult]:
    """Returns the result of each limit that applies to a job of a future."""
    groups = {(job.queue, job.priority_class) for outcome in outcomes for job in outcome.jobs}
    present = [limit for limit in limits if any(applies_to(limit, *group) for group in groups)]
    return limit_results(present, outcomes)


def limit_tables(results: Sequence[LimitResult]) -> list[Table]:
    """Returns the limits and whether they are met; no table without limits."""
    if not results:
        return []
    cells = [
        (
            f"{result.limit.named} {result.limit.bound_text}",
            result.limit.text(result.mean),
            "yes" if result.is_met else "no",
            f"{result.futures}/{len(result.values)}",
        )
        for result in results
    ]
    return [Table("Limits", ("LIMIT", "VALUE", "MET", "FUTURES"), cells, numbers=1)]


def limit_document(results: Sequence[LimitResult]) -> list[dict[str, Any]]:
    """Returns the limits for programs. Values are waits in seconds, null for jobs that never start, or shares
    of late jobs."""
    return [
        {
            "limit": f"{result.limit.named} {result.limit.bound_text}",
            "value": None if result.mean == inf else result.mean,
            "met": result.is_met,
            "futures": result.futures,
        }
        for result in results
    ]
