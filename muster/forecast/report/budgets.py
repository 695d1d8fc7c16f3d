"""Budgets in forecasts and plans: as tables and as data."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median_low
from typing import Any

from muster.forecast.report.tables import Table
from muster.forecast.report.text import duration, hours
from muster.forecast.results.budgets import BudgetOutcome
from muster.forecast.results.outcome import SimulationOutcome
from muster.objects.meta import rfc3339

Name = tuple[str, str, str, str]
"""The owner, the resource, the flavor and the period of a budget."""
SIDES = ("before", "after")


@dataclass(frozen=True, slots=True)
class BudgetForecast:
    """A budget over the futures of one side. `side` is empty in a forecast."""

    name: Name
    side: str
    enforcement: str
    limit_hours: float
    used_hours: float  # mean over the periods and futures
    periods: float  # mean over the futures, as is `used_up`
    used_up: float
    first_ms: int | None  # median of the first time; None if it lasts in half of the futures


def budget_forecasts(sides: Sequence[Sequence[SimulationOutcome]]) -> list[BudgetForecast]:
    """Returns the budgets of one side (a forecast) or of both (a plan). A budget of both sides is followed by
    the same budget after the change."""
    names = SIDES if len(sides) == len(SIDES) else ("",)
    forecasts = [
        forecast
        for side, outcomes in zip(names, sides, strict=True)
        for forecast in _of_side(side, [outcome.budgets for outcome in outcomes])
    ]
    first = {key: number for number, (key, _) in reversed(list(enumerate(_numbered(forecasts))))}
    return [of for _, of in sorted(_numbered(forecasts), key=lambda numbered: first[numbered[0]])]


def _numbered(forecasts: Sequence[BudgetForecast]) -> Iterator[tuple[tuple[Name, int], BudgetForecast]]:
    """Yields the forecasts with their name, and their number among those of the same name and side."""
    counts: Counter[tuple[Name, str]] = Counter()
    for forecast in forecasts:
        counts[forecast.name, forecast.side] += 1
        yield (forecast.name, counts[forecast.name, forecast.side]), forecast


def _of_side(side: str, futures: Sequence[Sequence[BudgetOutcome]]) -> Iterator[BudgetForecast]:
    for outcomes in zip(*futures, strict=True):
        budget = outcomes[0].budget
        times_ms = [of.first_ms for of in outcomes]
        never_ms = max((at_ms for at_ms in times_ms if at_ms is not None), default=0) + 1
        median_ms = median_low([never_ms if at_ms is None else at_ms for at_ms in times_ms])
        yield BudgetForecast(
            name=(outcomes[0].owner, budget.resource, budget.flavor or "all", budget.period_name),
            side=side,
            enforcement=budget.enforcement.value,
            limit_hours=outcomes[0].limit_hours,
            used_hours=fmean(of.used_hours for of in outcomes),
            periods=fmean(of.periods for of in outcomes),
            used_up=fmean(of.used_up for of in outcomes),
            first_ms=None if median_ms == never_ms else median_ms,
        )


def budget_tables(forecasts: Sequence[BudgetForecast], begins_ms: int | None) -> list[Table]:
    """Returns the budgets with their usage, on both sides of a plan; no table without budgets. `begins_ms` is
    the date of the trace."""
    if not forecasts:
        return []
    has_sides = bool(forecasts[0].side)
    rows = [(*of.name, *((of.side,) if has_sides else ()), *_cells(of, begins_ms)) for of in forecasts]
    sides = ("SIDE",) if has_sides else ()
    columns = ("OWNER", "RESOURCE", "FLAVOR", "PERIOD", *sides, "ENFORCEMENT")
    amounts = ("LIMIT", "USED", "USED UP IN", "FIRST USED UP")
    return [Table("Budgets, in hours a period", (*columns, *amounts), rows, numbers=len(columns))]


def _cells(of: BudgetForecast, begins_ms: int | None) -> tuple[str, ...]:
    periods = f"{of.used_up:.3g} of {of.periods:.3g}"
    return of.enforcement, hours(of.limit_hours), hours(of.used_hours), periods, _time(of.first_ms, begins_ms)


def _time(at_ms: int | None, begins_ms: int | None) -> str:
    """Returns a date, or the time since the beginning of a trace without a date."""
    if at_ms is None:
        return "-"
    return duration(at_ms / 1000) if begins_ms is None else rfc3339(begins_ms + at_ms)


def budget_document(forecasts: Sequence[BudgetForecast]) -> list[dict[str, Any]]:
    """Returns the budgets for programs; times in seconds since the beginning of the trace."""
    keys = ("owner", "resource", "flavor", "period")
    return [
        {
            **dict(zip(keys, of.name, strict=True)),
            **({"side": of.side} if of.side else {}),
            "enforcement": of.enforcement,
            "limit_hours": of.limit_hours,
            "used_hours": of.used_hours,
            "periods": of.periods,
            "used_up_in": of.used_up,
            "first_used_up_s": None if of.first_ms is None else of.first_ms / 1000,
        }
        for of in forecasts
    ]
