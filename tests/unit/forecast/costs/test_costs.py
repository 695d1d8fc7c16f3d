"""Costs of a month, by queue and flavor, and by group of jobs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given

from muster.forecast.configuration import QueueConfiguration
from muster.forecast.costs.monthly import MONTH_HOURS, UNUSED, demand_hours, monthly_costs
from muster.forecast.costs.prices import Prices
from muster.forecast.futures import SimulationInputs
from muster.forecast.placement import place
from muster.forecast.report.assumed import Remark
from muster.forecast.report.costs import cost_changes, cost_document, cost_remarks, cost_tables, costs_of
from muster.forecast.results.usage import usage
from muster.forecast.results.waits import JobGroup
from muster.forecast.traces.trace import TraceJob
from tests.unit.forecast.builders import AT_ONCE, configured, flavor, job, queue, simulated
from tests.unit.forecast.drawn_forecasts import JOBS, Drawn, jobs_of, two_queues

HOUR_S = 3600
PRICES = Prices({"h100": 2.0}, "USD", "2026-11-26", "a contract")
LAST = job("last", 10 * HOUR_S, 0)
"""Ten hours of submissions."""
A_DAY_OF_8 = job("one", 0, 24 * HOUR_S, 8)


@dataclass(frozen=True)
class Case:
    expected: Mapping[tuple[str, str], float]
    jobs: tuple[TraceJob, ...] = (A_DAY_OF_8, LAST)
    reserved: Mapping[str, int] = field(default_factory=dict)
    prices: Prices = PRICES


USED = 8 * 24 * 2.0 * MONTH_HOURS / 10
CASES = {
    "on demand: while gangs hold it": Case({("a", "h100"): USED}),
    "a reservation: the rest is paid too": Case(
        {("a", "h100"): USED, (UNUSED, "h100"): 100 * 2.0 * MONTH_HOURS - USED}, reserved={"h100": 100}
    ),
    "a reservation without jobs": Case(
        {(UNUSED, "h100"): 4 * 2.0 * MONTH_HOURS}, jobs=(job("none", 0, 0),), reserved={"h100": 4}
    ),
    "a reservation that is in use": Case({("a", "h100"): USED}, reserved={"h100": 8}),
    "a price of the option that the pool is bought with": Case(
        {("a", "h100"): USED},
        prices=Prices(by_option={"h100": {"spot": 2.0, "on-demand": 9.0}}).bought({"h100": "spot"}),
    ),
    "no price of the option": Case(
        {}, prices=Prices(by_option={"h100": {"spot": 2.0}}).bought({"h100": "reserved"})
    ),
    "no price": Case({}, prices=Prices({"l4": 1.0}), reserved={"h100": 8}),
    "less than an hour of submissions counts as one": Case(
        {("a", "h100"): 2.0 * MONTH_HOURS}, jobs=(job("one", 0, HOUR_S),)
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_month_costs_what_gangs_hold_and_what_is_reserved(name: str) -> None:
    case = CASES[name]
    outcome = simulated(configured(queue("a", 16)), *case.jobs)
    costs = monthly_costs(outcome, case.prices, case.reserved, demand_hours([outcome]))
    assert {key: cost for key, cost in costs.by_queue.items() if cost} == pytest.approx(case.expected)
    assert costs.total == pytest.approx(sum(case.expected.values()))


@given(JOBS)
def test_costs_of_groups_add_up_to_the_accelerator_hours(drawn: Drawn) -> None:
    outcome = simulated(two_queues(4, 4, "Any"), *jobs_of(drawn))
    costs = monthly_costs(outcome, PRICES, {}, hours=MONTH_HOURS)
    held = sum(flavor.held for flavor in usage(outcome).flavors.values())
    assert costs.total == pytest.approx(2.0 * held)
    for part in ("priority_class", "size"):
        groups = [cost for group, cost in costs.by_group.items() if getattr(group, part)]
        assert sum(groups) == pytest.approx(costs.total)


JOBS_OF_TWO = [job("one", 0, 3600, 8), job("two", 0, 3600, 8, queue="b"), LAST]


def side(*names: str, reserved: Mapping[str, int] | None = None) -> SimulationInputs:
    base: QueueConfiguration = configured(flavor("l4"), *(queue(name, 8) for name in names))
    configuration = replace(base, name="-".join(names), reserved=reserved or {})
    return SimulationInputs(configuration, place(JOBS_OF_TWO, configuration).jobs, AT_ONCE)


def test_a_plan_says_what_each_group_costs_or_saves() -> None:
    sides = [side("a"), side("a", "b", reserved={"h100": 16})]
    futures = [
        [simulated(side.configuration, *(job for job in JOBS_OF_TWO if job.queue in side.configuration.name))]
        for side in sides
    ]
    costs = costs_of(sides, futures, PRICES)
    (table,) = cost_tables(costs)
    assert table.title == "Cost of a month in USD"
    assert table.rows == [
        ("a", "h100", "1,168", "1,168", "0"),
        ("b", "h100", "0", "1,168", "+1,168"),
        (UNUSED, "h100", "0", "21,024", "+21,024"),
        ("all queues", "", "1,168", "23,360", "+22,192"),
    ]
    changes = cost_changes(costs)
    assert changes is not None
    texts = [changes[group] for group in (JobGroup(), JobGroup("a"), JobGroup("b"), JobGroup("c"))]
    assert texts == ["+22,192", "0", "+1,168", "0"]
    document = cost_document(costs)
    assert document is not None
    assert [side["total"] for side in document["sides"]] == pytest.approx([1168, 23360])


def test_the_assumptions_of_costs_are_named() -> None:
    inputs = side("a", reserved={"h100": 16})
    costs = costs_of([inputs], [[simulated(inputs.configuration, A_DAY_OF_8, LAST)]], PRICES)
    assert list(cost_remarks(costs, [inputs], [PRICES])) == [
        Remark("prices are in USD per accelerator-hour of 2026-11-26, a contract"),
        Remark("costs of a month: 10h00m of submissions, times 73.0"),
        Remark("all 16 accelerators of flavor h100 are reserved, and paid without use"),
    ]
    other = replace(PRICES, by_flavor={"l4": 1.0})
    costs = costs_of([inputs, inputs], [[simulated(inputs.configuration, A_DAY_OF_8)]] * 2, other)
    texts = [remark.text for remark in cost_remarks(costs, [inputs, inputs], [PRICES, other])]
    assert "both sides are priced as after the change, so that a change is one of use" in texts
    assert "no price, so that it costs nothing here: h100" in texts
    sides = [
        replace(inputs, configuration=replace(inputs.configuration, reserved=of)) for of in ({}, {"h100": 4})
    ]
    costs = costs_of(sides, [[simulated(inputs.configuration, A_DAY_OF_8)]] * 2, PRICES)
    *_, last = cost_remarks(costs, sides, [PRICES, PRICES])
    assert last == Remark(
        "all 4 accelerators of flavor h100 are reserved, and paid without use", configuration="a"
    )


def test_without_prices_there_are_no_costs() -> None:
    inputs = side("a")
    assert costs_of([inputs], [[simulated(inputs.configuration, A_DAY_OF_8)]], Prices()) is None
    assert (cost_tables(None), cost_document(None), cost_changes(None)) == ([], None, None)
    assert list(cost_remarks(None, [inputs], [Prices()])) == []
