"""Soft budgets: once one is used up, workloads of its queues rank below all others.

This applies to workloads that request the resource, or use it in the budget's flavor, until the usage of the
period is below the limit again. They come last in their queue, among the heads of a cycle, and as preemptors:
they preempt only others over budget. As candidates of others they come first, after surplus; the queues'
preemption policies decide whether they are candidates at all, except that every workload within its budgets
counts as one of higher priority, and that fair sharing does not compare shares for them.
"""

from collections.abc import Iterable, Mapping
from itertools import chain

from muster.admission.model import Enforcement, Snapshot
from muster.admission.quota.tree import QuotaNode
from muster.admission.rules.budget_usage import limit_unit_ms, units_of, used_unit_ms
from muster.admission.rules.budgets import OwnedBudget, description, owned_budgets, queues_below
from muster.admission.state.holdings import Holding
from muster.admission.state.over_budget import UsedUp
from muster.admission.wait_note import earliest


class SoftBudgets:
    """The soft budgets of all queues and cohorts."""

    __slots__ = ("_by_queue", "_holdings", "_snapshot")

    def __init__(
        self,
        snapshot: Snapshot,
        nodes: Mapping[str, QuotaNode],
        holdings: Mapping[str, Mapping[str, Holding]],
    ) -> None:
        self._snapshot = snapshot
        self._holdings = holdings
        below = queues_below(nodes)
        soft = {
            name: [
                owned
                for owned in owned_budgets(snapshot, node, below)
                if owned.budget.enforcement is Enforcement.SOFT
            ]
            for name, node in nodes.items()
        }
        self._by_queue = {name: budgets for name, budgets in soft.items() if budgets}

    def used_up(self, names: Iterable[str], now_ms: int) -> dict[str, tuple[UsedUp, ...]]:
        """Returns the budgets that are used up, by queue; an empty tuple for queues with other soft
        budgets."""
        states: dict[OwnedBudget, UsedUp | None] = {}  # a budget of a cohort applies to many queues
        by_queue: dict[str, tuple[UsedUp, ...]] = {}
        for name in names:
            for owned in self._by_queue.get(name, ()):
                if owned not in states:
                    states[owned] = self._used_up(owned, now_ms)
            if name in self._by_queue:
                of_queue = (states[owned] for owned in self._by_queue[name])
                by_queue[name] = tuple(used_up for used_up in of_queue if used_up is not None)
        return by_queue

    def until_ms(self, names: Iterable[str], now_ms: int) -> int | None:
        """Returns when the result of `used_up` may change by time alone."""
        budgets = dict.fromkeys(owned for name in names for owned in self._by_queue.get(name, ()))
        return earliest(*(self._changes_ms(owned, now_ms) for owned in budgets))

    def _used_up(self, owned: OwnedBudget, now_ms: int) -> UsedUp | None:
        if self._remaining(owned, now_ms) > 0:
            return None
        message = f"{owned.owner} has used up its {description(owned.budget)}"
        return UsedUp(owned.budget, message, owned.budget.period(now_ms)[1])

    def _changes_ms(self, owned: OwnedBudget, now_ms: int) -> int:
        _, end_ms = owned.budget.period(now_ms)
        remaining = self._remaining(owned, now_ms)
        holdings = chain.from_iterable(self._holdings[name].values() for name in owned.queues)
        units = sum(units_of(holding.usage, owned.budget) for holding in holdings)
        if remaining <= 0 or units == 0:
            return end_ms
        return min(end_ms, now_ms - (-remaining // units))

    def _remaining(self, owned: OwnedBudget, now_ms: int) -> int:
        budget = owned.budget
        start_ms, _ = budget.period(now_ms)
        holdings = [self._holdings[name].values() for name in owned.queues]
        spent = [self._snapshot.spent.get(name, ()) for name in owned.queues]
        limit = limit_unit_ms(budget, holdings, spent, now_ms)
        return limit - used_unit_ms(budget, holdings, spent, start_ms, now_ms)
