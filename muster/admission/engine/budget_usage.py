"""Usage of budgets, for reports."""

from collections.abc import Iterator
from dataclasses import dataclass

from muster.admission.model import Budget, Snapshot
from muster.admission.rules.budget_usage import limit_unit_ms, load_of, units_of, used_unit_ms
from muster.admission.rules.budgets import description, queues_below
from muster.admission.state.state import WorkingState


@dataclass(frozen=True, slots=True)
class BudgetUsage:
    """A budget in its current period. Amounts are in units times milliseconds."""

    is_cohort: bool
    name: str  # of the ClusterQueue or cohort
    queues: tuple[str, ...]  # that share it
    budget: Budget
    start_ms: int
    end_ms: int
    limit_unit_ms: int  # with the amount carried over
    used_unit_ms: int
    committed_unit_ms: int  # declared future usage of running workloads, until the end of the period
    units: int  # held now

    @property
    def owner(self) -> str:
        """The kind and name of its owner."""
        return f"{'cohort' if self.is_cohort else 'ClusterQueue'} {self.name}"

    @property
    def description(self) -> str:
        """The amount, the resource and the period of the budget."""
        return description(self.budget)

    def runs_out_ms(self, now_ms: int) -> int | None:
        """Returns when the budget is used up if the units that are held now stay so; None if that is not
        before the end of the period."""
        remaining = self.limit_unit_ms - self.used_unit_ms
        if remaining <= 0:
            return now_ms
        at_ms = now_ms + remaining // self.units if self.units else None
        return at_ms if at_ms is not None and (at_ms < self.end_ms or self.budget.rolling) else None


def budget_usage(snapshot: Snapshot, state: WorkingState, now_ms: int) -> Iterator[BudgetUsage]:
    """Yields the usage of all budgets: of cohorts, then of ClusterQueues."""
    below = queues_below(state.tree.queues)
    for name, cohort in snapshot.cohorts.items():
        for budget in cohort.budgets:
            yield _usage(True, name, below.get(name, ()), budget, snapshot, state, now_ms)
    for name, queue in snapshot.cluster_queues.items():
        for budget in queue.budgets:
            yield _usage(False, name, (name,), budget, snapshot, state, now_ms)


def _usage(
    is_cohort: bool,
    name: str,
    queues: tuple[str, ...],
    budget: Budget,
    snapshot: Snapshot,
    state: WorkingState,
    now_ms: int,
) -> BudgetUsage:
    holdings = [state.holdings[queue].values() for queue in queues]
    spent = [snapshot.spent.get(queue, ()) for queue in queues]
    start_ms, end_ms = budget.period(now_ms)
    used = used_unit_ms(budget, holdings, spent, start_ms, now_ms)
    return BudgetUsage(
        is_cohort=is_cohort,
        name=name,
        queues=queues,
        budget=budget,
        start_ms=start_ms,
        end_ms=end_ms,
        limit_unit_ms=limit_unit_ms(budget, holdings, spent, now_ms),
        used_unit_ms=used,
        committed_unit_ms=load_of(budget, holdings, spent, now_ms).unit_ms - used,
        units=sum(units_of(holding.usage, budget) for of_queue in holdings for holding in of_queue),
    )
