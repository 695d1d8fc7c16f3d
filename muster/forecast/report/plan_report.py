"""The report of a plan: a summary, tables, and data for programs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from muster.forecast.limits import ExceededLimit
from muster.forecast.report.assumed import Remark, remarks_table
from muster.forecast.report.budgets import budget_document, budget_forecasts, budget_tables
from muster.forecast.report.costs import Costs, cost_changes, cost_document, cost_tables
from muster.forecast.report.document import plan_document
from muster.forecast.report.growth import growth_change_tables, growth_document
from muster.forecast.report.service_levels import LevelsWithin, level_tables, levels_document
from muster.forecast.report.tables import Table, plan_tables, totals
from muster.forecast.results.comparison import Comparison
from muster.forecast.results.outcome import SimulationOutcome


@dataclass(frozen=True, slots=True)
class PlanReport:
    """The results of two configurations, named `base` and `changed`."""

    base: str
    changed: str
    before: Sequence[SimulationOutcome]
    after: Sequence[SimulationOutcome]
    comparison: Comparison
    limits: Sequence[ExceededLimit]
    levels: Sequence[LevelsWithin]
    costs: Costs | None
    begins_ms: int | None  # the date of the trace
    remarks: Sequence[Remark]

    @property
    def summary(self) -> list[str]:
        """A line for each side."""
        return [
            f"before ({self.base}): {totals(self.before)}",
            f"after ({self.changed}): {totals(self.after)}",
        ]

    @property
    def own_tables(self) -> list[Table]:
        """The tables that neither the waits nor the remarks are in: growth, costs, budgets and service
        levels."""
        budgets = budget_forecasts([self.before, self.after])
        return [
            *growth_change_tables(self.before, self.after),
            *cost_tables(self.costs),
            *budget_tables(budgets, self.begins_ms),
            *level_tables(self.levels),
        ]

    @property
    def tables(self) -> list[Table]:
        """All tables."""
        waits, worst = plan_tables(self.comparison, cost_changes(self.costs))
        return [waits, *self.own_tables, worst, *remarks_table(self.remarks)]

    @property
    def document(self) -> dict[str, Any]:
        """The report for programs."""
        return {
            **plan_document(self.base, self.changed, self.comparison, self.limits, self.remarks),
            "growth": {"base": growth_document(self.before), "changed": growth_document(self.after)},
            "cost_of_a_month": cost_document(self.costs),
            "budgets": budget_document(budget_forecasts([self.before, self.after])),
            "service_levels": levels_document(self.levels),
        }
