"""Usage of budgets: recorded usage, and the usage of workloads that hold quota."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from muster.admission.model import Budget, Spent
from muster.admission.quota.tree import Usage
from muster.admission.state.holdings import Holding

Holdings = Iterable[Collection[Holding]]
"""The holdings of the queues that share a budget."""
SpentOfQueues = Iterable[Iterable[Spent]]


class Load(NamedTuple):
    """Usage in a period: `unit_ms` so far, including the declared usage of running workloads; `growth` per ms
    beyond that, constant until `until_ms`."""

    unit_ms: int
    growth: int
    until_ms: int


def load_of(budget: Budget, holdings: Holdings, spent: SpentOfQueues, now_ms: int) -> Load:
    """Returns the usage in the current period."""
    start_ms, end_ms = budget.period(now_ms)
    horizon_ms = budget.horizon_ms(now_ms)
    unit_ms, growth, until_ms = _recorded(budget, spent, start_ms, end_ms), 0, end_ms
    for of_queue in holdings:
        for holding in of_queue:
            units = units_of(holding.usage, budget)
            begins_ms = max(start_ms, _counts_from_ms(holding))
            declared_ms = holding.reserved_at_ms + (holding.workload.run_time_ms or 0)
            grows_from_ms = max(begins_ms, min(horizon_ms, declared_ms))
            unit_ms += units * (max(now_ms, grows_from_ms) - begins_ms)
            if grows_from_ms <= now_ms:
                growth += units
            elif units:
                until_ms = min(until_ms, grows_from_ms)
    return Load(unit_ms, growth, until_ms)


def used_unit_ms(budget: Budget, holdings: Holdings, spent: SpentOfQueues, start_ms: int, end_ms: int) -> int:
    """Returns the usage between two times, both in the past."""
    running = (
        units_of(holding.usage, budget) * max(0, end_ms - max(start_ms, _counts_from_ms(holding)))
        for of_queue in holdings
        for holding in of_queue
    )
    return _recorded(budget, spent, start_ms, end_ms) + sum(running)


def limit_unit_ms(budget: Budget, holdings: Holdings, spent: SpentOfQueues, now_ms: int) -> int:
    """Returns the limit of the current period, with the unused part of the previous one if it is carried
    over."""
    if not budget.carries_over or budget.rolling:
        return budget.unit_ms
    start_ms, _ = budget.period(now_ms)
    previous_ms, _ = budget.period(start_ms - 1)
    unused = budget.unit_ms - used_unit_ms(budget, holdings, spent, previous_ms, start_ms)
    return budget.unit_ms + max(0, unused)


def units_of(usage: Usage, budget: Budget) -> int:
    """Returns the amount that counts for the budget."""
    return sum(amount for fr, amount in usage.items() if budget.covers(fr.flavor, fr.resource))


def _counts_from_ms(holding: Holding) -> int:
    return holding.workload.counts_from_ms or holding.reserved_at_ms


def _recorded(budget: Budget, spent: SpentOfQueues, start_ms: int, end_ms: int) -> int:
    return sum(
        recorded.unit_ms
        for of_queue in spent
        for recorded in of_queue
        if start_ms <= recorded.since_ms < end_ms
        # Without a flavor, it counts only for budgets of all flavors.
        and budget.covers(recorded.flavor, recorded.resource)
    )
