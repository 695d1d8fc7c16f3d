"""Costs of a month as tables, as data, and as remarks."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muster.forecast.costs.monthly import (
    MONTH_HOURS,
    UNUSED,
    MonthlyCosts,
    demand_hours,
    mean_costs,
    monthly_costs,
)
from muster.forecast.costs.prices import Prices
from muster.forecast.futures import SimulationInputs
from muster.forecast.report.assumed import Remark
from muster.forecast.report.document import group_fields
from muster.forecast.report.tables import Table
from muster.forecast.report.text import duration
from muster.forecast.results.outcome import SimulationOutcome
from muster.forecast.results.waits import JobGroup
from muster.forecast.simulation.simulator import capacities

NO_CHANGE = "0"


@dataclass(frozen=True, slots=True)
class Costs:
    """The mean costs of a month of each side: one side in a forecast, two in a plan."""

    prices: Prices
    hours: float  # of the demand that is extrapolated to a month
    sides: Sequence[MonthlyCosts]


def costs_of(
    sides: Sequence[SimulationInputs], outcomes: Sequence[Sequence[SimulationOutcome]], prices: Prices
) -> Costs | None:
    """Returns the costs of each side; None without prices."""
    if not prices:
        return None
    hours = demand_hours([outcome for side in outcomes for outcome in side])
    means = [
        mean_costs(
            [
                monthly_costs(outcome, _paid(side, prices), side.configuration.reserved, hours)
                for outcome in futures
            ]
        )
        for side, futures in zip(sides, outcomes, strict=True)
    ]
    return Costs(prices, hours, means)


def cost_tables(costs: Costs | None) -> list[Table]:
    """Returns the costs of a month by queue and flavor; no table without prices."""
    if costs is None:
        return []
    every = {key for side in costs.sides for key in side.by_queue}
    keys = sorted(every, key=lambda key: (key[0] == UNUSED, key))
    rows = [(*key, *_cells([side.by_queue.get(key, 0.0) for side in costs.sides])) for key in keys]
    rows.append(("all queues", "", *_cells([side.total for side in costs.sides])))
    columns = ("COST",) if len(costs.sides) == 1 else ("COST", "AFTER", "CHANGE")
    title = f"Cost of a month in {costs.prices.currency}"
    return [Table(title, ("QUEUE", "FLAVOR", *columns), rows, numbers=2)]


def cost_document(costs: Costs | None) -> dict[str, Any] | None:
    """Returns the costs for programs; null without prices."""
    if costs is None:
        return None
    prices = costs.prices
    return {
        "currency": prices.currency,
        "date": prices.date,
        "source": prices.source,
        "hours_of_demand": costs.hours,
        "hours_of_a_month": MONTH_HOURS,
        "sides": [
            {
                "total": side.total,
                "by_queue": [
                    {"queue": None if queue == UNUSED else queue, "flavor": flavor, "cost": cost}
                    for (queue, flavor), cost in side.by_queue.items()
                ],
                "by_group": [
                    {**group_fields(group), "cost": cost} for group, cost in sorted(side.by_group.items())
                ],
            }
            for side in costs.sides
        ],
    }


def cost_remarks(
    costs: Costs | None, sides: Sequence[SimulationInputs], own: Sequence[Prices]
) -> Iterator[Remark]:
    """Yields the assumptions of the costs; `own` has the prices that belong to each side."""
    if costs is None:
        return
    yield Remark(costs.prices.described)
    if any(prices and prices != costs.prices for prices in own):
        yield Remark("both sides are priced as after the change, so that a change is one of use")
    if costs.hours < MONTH_HOURS:
        times = f"times {MONTH_HOURS / costs.hours:.1f}"
        yield Remark(f"costs of a month: {duration(3600 * costs.hours)} of submissions, {times}")
    missing = sorted(
        {
            flavor
            for side in sides
            for flavor in _flavors_in_use(side)
            if flavor not in _paid(side, costs.prices).by_flavor
        }
    )
    if missing:
        yield Remark(f"no price, so that it costs nothing here: {', '.join(missing)}")
    alike = all(side.configuration.reserved == sides[0].configuration.reserved for side in sides)
    for side in sides[:1] if alike else sides:
        for flavor in sorted(side.configuration.reserved.keys() & costs.prices.flavors):
            accelerators = side.configuration.reserved[flavor]
            text = f"all {accelerators:,} accelerators of flavor {flavor} are reserved, and paid without use"
            yield Remark(text, configuration="" if alike else side.configuration.name)


def cost_changes(costs: Costs | None) -> Mapping[JobGroup, str] | None:
    """Returns the change of the cost of each group of jobs in a plan; None without prices."""
    if costs is None:
        return None
    before, after = (side.by_group for side in costs.sides)
    groups = before.keys() | after.keys()
    changes = {group: _change(after.get(group, 0.0) - before.get(group, 0.0)) for group in groups}
    return defaultdict(lambda: NO_CHANGE, changes)


def _paid(side: SimulationInputs, prices: Prices) -> Prices:
    return prices.bought(side.configuration.purchase_options)


def _cells(sides: Sequence[float]) -> list[str]:
    cells = [f"{cost:,.0f}" for cost in sides]
    return cells if len(sides) == 1 else [*cells, _change(sides[1] - sides[0])]


def _change(value: float) -> str:
    return f"{value:+,.0f}" if round(value) else NO_CHANGE


def _flavors_in_use(side: SimulationInputs) -> Iterator[str]:
    """Yields the flavors with a quota of accelerators."""
    for queue in capacities(side.configuration):
        yield from (flavor for flavor, nominal in queue.nominal.items() if nominal)
