"""The report of a forecast: a summary, tables, and data for programs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muster.forecast.report.assumed import Remark, remarks_table
from muster.forecast.report.budgets import budget_document, budget_forecasts, budget_tables
from muster.forecast.report.costs import Costs, cost_document, cost_tables
from muster.forecast.report.document import forecast_document
from muster.forecast.report.growth import growth_document, growth_tables
from muster.forecast.report.headroom import QueueHeadroom, headroom_document, headroom_tables
from muster.forecast.report.limits import LimitResult, limit_document, limit_tables
from muster.forecast.report.service_levels import LevelsWithin, level_tables, levels_document
from muster.forecast.report.tables import Table, forecast_tables, recorded_tables, totals
from muster.forecast.results.outcome import SimulationOutcome
from muster.forecast.results.recorded import recorded_waits


@dataclass(frozen=True, slots=True)
class ForecastReport:
    """The results of one configuration."""

    name: str
    outcomes: Sequence[SimulationOutcome]
    is_random: bool
    waited_ms: Mapping[int, int]  # recorded waits by job number
    limits: Sequence[LimitResult]
    levels: Sequence[LevelsWithin]
    headroom: Sequence[QueueHeadroom]
    costs: Costs | None
    begins_ms: int | None  # the date of the trace
    remarks: Sequence[Remark]

    @property
    def summary(self) -> str:
        """The forecast in a line."""
        count = f"{len(self.outcomes)} futures" if self.is_random else "deterministic"
        return f"{self.name}: {totals(self.outcomes)} ({count})"

    @property
    def own_tables(self) -> list[Table]:
        """The tables that neither the waits nor the remarks are in: growth, costs, budgets, limits, service
        levels and headroom."""
        return [
            *growth_tables(self.outcomes),
            *cost_tables(self.costs),
            *budget_tables(budget_forecasts([self.outcomes]), self.begins_ms),
            *limit_tables(self.limits),
            *level_tables(self.levels),
            *headroom_tables(self.headroom),
        ]

    @property
    def tables(self) -> list[Table]:
        """All tables."""
        past = recorded_tables(recorded_waits(self.outcomes, self.waited_ms))
        return [*forecast_tables(self.outcomes), *self.own_tables, *past, *remarks_table(self.remarks)]

    @property
    def document(self) -> dict[str, Any]:
        """The report for programs."""
        return {
            **forecast_document(self.name, self.outcomes, self.waited_ms, self.remarks),
            "growth": growth_document(self.outcomes),
            "cost_of_a_month": cost_document(self.costs),
            "budgets": budget_document(budget_forecasts([self.outcomes])),
            "limits": limit_document(self.limits),
            "service_levels": levels_document(self.levels),
            "headroom": headroom_document(self.headroom),
        }
