"""Budgets: limits on the use of a resource per period, by a queue or by a cohort with all its queues.

A workload's usage counts for as long as it holds quota. It is admitted while some of the budget is left. With
a declared run time it is admitted only if the budget covers its usage in this period, in addition to the
remaining declared usage of running workloads. A workload that runs when the budget is exhausted may finish;
its excess usage does not count in the next period.
"""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from muster.admission.model import Budget, Snapshot, WaitReason
from muster.admission.quantities import CPU, MILLI
from muster.admission.quota.tree import QuotaNode, Usage
from muster.admission.state.holdings import Holding
from muster.admission.wait_note import Ruling, WaitNote, duration, earliest

_HOUR_MS = 3_600_000


class Budgets:
    """The usage of budgets. The engine sets `now_ms` before each decision."""

    __slots__ = ("_holdings", "_queues", "_snapshot", "now_ms")

    def __init__(
        self,
        snapshot: Snapshot,
        nodes: Mapping[str, QuotaNode],
        holdings: Mapping[str, Mapping[str, Holding]],
    ) -> None:
        self._snapshot = snapshot
        self._holdings = holdings
        self._queues: dict[str, list[str]] = {}  # queues below each cohort
        for name, node in nodes.items():
            for cohort in node.lineage[1:]:
                self._queues.setdefault(cohort.name, []).append(name)
        self.now_ms = 0

    def ruling(self, node: QuotaNode, usage: Usage, run_time_ms: int | None) -> Ruling:
        """Returns whether a workload with this usage may be admitted to the queue at `node`."""
        units = amounts(usage)
        rulings = [
            self._ruling(owner, queues, budget, units[budget.resource], run_time_ms)
            for owner, queues, budgets in self._owners(node)
            for budget in budgets
            if units.get(budget.resource)
        ]
        notes = (ruling.note for ruling in rulings if ruling.note is not None)
        # The note that lasts longest.
        note = max(notes, key=lambda note: note.until_ms or 0, default=None)
        return Ruling(note, earliest(*(ruling.until_ms for ruling in rulings)))

    def _owners(self, node: QuotaNode) -> Iterator[tuple[str, list[str], Iterable[Budget]]]:
        """Yields the owners of budgets that apply to a queue, with the queues that share each."""
        name = node.name
        yield f"ClusterQueue {name}", [name], self._snapshot.cluster_queues[name].budgets
        for parent in node.lineage[1:]:
            cohort = self._snapshot.cohorts.get(parent.name)
            if cohort is not None and cohort.budgets:
                yield f"cohort {parent.name}", self._queues[parent.name], cohort.budgets

    def _ruling(
        self, owner: str, queues: Iterable[str], budget: Budget, units: int, run_time_ms: int | None
    ) -> Ruling:
        now_ms = self.now_ms
        start_ms, end_ms = budget.period(now_ms)
        load = self._load(queues, budget.resource, start_ms, end_ms)
        remaining, growth = budget.unit_ms - load.unit_ms, load.growth
        # Without a run time, any remaining budget suffices.
        needs = 1 if run_time_ms is None else units * min(run_time_ms, end_ms - now_ms)
        if needs > remaining:
            fits_ms = end_ms
            if run_time_ms is not None and units > growth:
                # It needs less towards the end of the period, and fits at the first t > now with
                # units * (end - t) <= remaining - growth * (t - now).
                fits_ms = min(
                    end_ms, ceil(Fraction(units * end_ms - remaining - growth * now_ms, units - growth))
                )
            note = WaitNote(_sentence(owner, budget, units, run_time_ms), fits_ms, WaitReason.BUDGET)
            return Ruling(note, min(fits_ms, load.until_ms))
        changes_ms = [load.until_ms]
        if run_time_ms is not None and now_ms + run_time_ms < end_ms:
            changes_ms.append(end_ms - run_time_ms)  # from then on its needs in this period decrease
        elif run_time_ms is not None:
            growth -= units
        if growth > 0:
            changes_ms.append(now_ms + (remaining - needs) // growth + 1)
        return Ruling(None, min(changes_ms))

    def _load(self, queues: Iterable[str], resource: str, start_ms: int, end_ms: int) -> "_Load":
        unit_ms, growth, until_ms = 0, 0, end_ms
        for name in queues:
            for spent in self._snapshot.spent.get(name, ()):
                if (spent.resource, spent.since_ms) == (resource, start_ms):
                    unit_ms += spent.unit_ms
            for holding in self._holdings[name].values():
                units = amounts(holding.usage).get(resource, 0)
                begins_ms = max(start_ms, holding.reserved_at_ms)
                declared_ms = holding.reserved_at_ms + (holding.workload.run_time_ms or 0)
                grows_from_ms = max(begins_ms, min(end_ms, declared_ms))
                unit_ms += units * (max(self.now_ms, grows_from_ms) - begins_ms)
                if grows_from_ms <= self.now_ms:
                    growth += units
                elif units:
                    until_ms = min(until_ms, grows_from_ms)
        return _Load(unit_ms, growth, until_ms)


class _Load(NamedTuple):
    """Usage in a period: `unit_ms` so far, including the declared usage of running workloads; `growth` per ms
    beyond that, constant until `until_ms`."""

    unit_ms: int
    growth: int
    until_ms: int


def amounts(usage: Usage) -> dict[str, int]:
    """Returns the total amount of each resource over all flavors."""
    totals: dict[str, int] = {}
    for fr, amount in usage.items():
        totals[fr.resource] = totals.get(fr.resource, 0) + amount
    return totals


def _sentence(owner: str, budget: Budget, units: int, run_time_ms: int | None) -> str:
    """Returns a sentence that stays true until the workload fits: without the remaining budget, which changes
    continuously."""
    needs = f"{_units(budget.resource, units)} {budget.resource}"
    if run_time_ms is not None:
        needs += f" for {duration(run_time_ms)}"
    hours = f"{_hours(budget.resource, budget.unit_ms)} {budget.resource} hours"
    return (
        f"needs {needs}, but {owner} has too little left of its {hours} of this {duration(budget.period_ms)}"
    )


def _units(resource: str, units: int) -> str:
    return _decimal(Fraction(units, MILLI if resource == CPU else 1))


def _hours(resource: str, unit_ms: int) -> str:
    return _decimal(Fraction(unit_ms, _HOUR_MS * (MILLI if resource == CPU else 1)))


def _decimal(number: Fraction) -> str:
    """Rounds down to tenths."""
    tenths = number.numerator * 10 // number.denominator
    return str(tenths // 10) if tenths % 10 == 0 else f"{tenths // 10}.{tenths % 10}"
