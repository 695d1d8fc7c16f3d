"""Budgets: limits on the use of a resource per period, by a queue or by a cohort with all its queues.

A workload's usage counts for as long as it holds quota. It is admitted while some of the budget is left. With
a declared run time it is admitted only if the budget covers its usage in this period, in addition to the
remaining declared usage of running workloads. A workload that runs when the budget is exhausted may finish;
its excess usage does not count in the next period.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil, inf
from typing import NamedTuple

from muster.admission.model import HOUR_MS, Budget, Enforcement, Snapshot, WaitReason
from muster.admission.quantities import CPU, MILLI
from muster.admission.quota.tree import QuotaNode, Usage
from muster.admission.rules.budget_usage import limit_unit_ms, load_of, units_of
from muster.admission.state.holdings import Holding
from muster.admission.wait_note import Ruling, WaitNote, duration, earliest


class OwnedBudget(NamedTuple):
    """A budget with its owner, such as "cohort ml", and the ClusterQueues that share it."""

    owner: str
    queues: tuple[str, ...]
    budget: Budget


class Budgets:
    """The hard budgets. The engine sets `now_ms` before each decision."""

    __slots__ = ("_holdings", "_queues", "_snapshot", "now_ms")

    def __init__(
        self,
        snapshot: Snapshot,
        nodes: Mapping[str, QuotaNode],
        holdings: Mapping[str, Mapping[str, Holding]],
    ) -> None:
        self._snapshot = snapshot
        self._holdings = holdings
        self._queues = queues_below(nodes)
        self.now_ms = 0

    def ruling(self, node: QuotaNode, usage: Usage, run_time_ms: int | None) -> Ruling:
        """Returns whether a workload with this usage may be admitted to the queue at `node`."""
        rulings = [
            self._ruling(owned, units, run_time_ms)
            for owned in owned_budgets(self._snapshot, node, self._queues)
            if owned.budget.enforcement is Enforcement.HARD and (units := units_of(usage, owned.budget))
        ]
        notes = (ruling.note for ruling in rulings if ruling.note is not None)
        # The note that lasts longest.
        note = max(notes, key=lambda note: inf if note.until_ms is None else note.until_ms, default=None)
        return Ruling(note, earliest(*(ruling.until_ms for ruling in rulings)))

    def _ruling(self, owned: OwnedBudget, units: int, run_time_ms: int | None) -> Ruling:
        owner, queues, budget = owned
        now_ms, (_, end_ms) = self.now_ms, budget.period(self.now_ms)
        holdings = [self._holdings[name].values() for name in queues]
        spent = [self._snapshot.spent.get(name, ()) for name in queues]
        load = load_of(budget, holdings, spent, now_ms)
        remaining, growth = limit_unit_ms(budget, holdings, spent, now_ms) - load.unit_ms, load.growth
        # Without a run time, any remaining budget suffices.
        needs = 1 if run_time_ms is None else units * min(run_time_ms, budget.horizon_ms(now_ms) - now_ms)
        if budget.unit_ms == 0 or (budget.rolling and needs > budget.unit_ms):
            return Ruling(WaitNote(_sentence(owner, budget, units, run_time_ms), None, WaitReason.BUDGET))
        if needs > remaining:
            fits_ms = end_ms
            if run_time_ms is not None and units > growth and not budget.rolling:
                # It needs less towards the end of the period, and fits at the first t > now with
                # units * (end - t) <= remaining - growth * (t - now).
                fits_ms = min(
                    end_ms, ceil(Fraction(units * end_ms - remaining - growth * now_ms, units - growth))
                )
            note = WaitNote(_sentence(owner, budget, units, run_time_ms), fits_ms, WaitReason.BUDGET)
            return Ruling(note, min(fits_ms, load.until_ms))
        changes_ms = [load.until_ms]
        if run_time_ms is not None and not budget.rolling:
            if now_ms + run_time_ms < end_ms:
                changes_ms.append(end_ms - run_time_ms)  # from then on its needs in this period decrease
            else:
                growth -= units
        if growth > 0:
            changes_ms.append(now_ms + (remaining - needs) // growth + 1)
        return Ruling(None, min(changes_ms))


def owned_budgets(
    snapshot: Snapshot, node: QuotaNode, queues: Mapping[str, tuple[str, ...]]
) -> Iterator[OwnedBudget]:
    """Yields the budgets that apply to the ClusterQueue at `node`; `queues` are those below each cohort."""
    name = node.name
    for budget in snapshot.cluster_queues[name].budgets:
        yield OwnedBudget(f"ClusterQueue {name}", (name,), budget)
    for parent in node.lineage[1:]:
        cohort = snapshot.cohorts.get(parent.name)
        for budget in () if cohort is None else cohort.budgets:
            yield OwnedBudget(f"cohort {parent.name}", queues[parent.name], budget)


def queues_below(nodes: Mapping[str, QuotaNode]) -> dict[str, tuple[str, ...]]:
    """Returns the ClusterQueues below each cohort."""
    queues: dict[str, list[str]] = {}
    for name, node in nodes.items():
        for cohort in node.lineage[1:]:
            queues.setdefault(cohort.name, []).append(name)
    return {cohort: tuple(names) for cohort, names in queues.items()}


def _sentence(owner: str, budget: Budget, units: int, run_time_ms: int | None) -> str:
    """Returns a sentence that stays true until the workload fits: without the remaining budget, which changes
    continuously."""
    needs = f"{_units(budget.resource, units)} {budget.resource}"
    if run_time_ms is not None:
        needs += f" for {duration(run_time_ms)}"
    return f"needs {needs}, but {owner} has too little left of its {description(budget)}"


def description(budget: Budget) -> str:
    """Returns the amount, the resource and the period of a budget."""
    hours = f"{_hours(budget.resource, budget.unit_ms)} {budget.resource} hours"
    if budget.flavor:
        hours += f" in flavor {budget.flavor}"
    if budget.period_ms is None:
        return f"{hours} of this month"
    return f"{hours} of {'the last' if budget.rolling else 'this'} {duration(budget.period_ms)}"


def _units(resource: str, units: int) -> str:
    return _decimal(Fraction(units, MILLI if resource == CPU else 1))


def _hours(resource: str, unit_ms: int) -> str:
    return _decimal(Fraction(unit_ms, HOUR_MS * (MILLI if resource == CPU else 1)))


def _decimal(number: Fraction) -> str:
    """Rounds down to tenths."""
    tenths = number.numerator * 10 // number.denominator
    return str(tenths // 10) if tenths % 10 == 0 else f"{tenths // 10}.{tenths % 10}"
