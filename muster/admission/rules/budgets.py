"""Budgets: how much of a resource a queue, or a cohort with all its queues, may use in a period.

A workload uses all quota that it holds, for as long as it holds it. It is admitted while something of the
budget is left; if it declares its run time, only if all that it would use in this period is left, besides
what running workloads that declare theirs may still use. A workload that runs when the budget is used up
may finish: what it uses beyond is not taken from the next period.
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
    """Usage of budgets. `now_ms` is set before each decision."""

    __slots__ = ("_holdings", "_queues", "_snapshot", "now_ms")

    def __init__(
        self,
        snapshot: Snapshot,
        nodes: Mapping[str, QuotaNode],
        holdings: Mapping[str, Mapping[str, Holding]],
    ) -> None:
        self._snapshot = snapshot
        self._holdings = holdings
        self._queues: dict[str, list[str]] = {}  # by the name of a cohort that they are below
        for name, node in nodes.items():
            for cohort in node.lineage[1:]:
                self._queues.setdefault(cohort.name, []).append(name)
        self.now_ms = 0

    def ruling(self, node: QuotaNode, usage: Usage, run_time_ms: int | None) -> Ruling:
        """Whether a workload that would use this may be admitted to the queue at `node`."""
        wanted = amounts(usage)
        rulings = [
            self._ruling(owner, queues, budget, wanted[budget.resource], run_time_ms)
            for owner, queues, budgets in self._owners(node)
            for budget in budgets
            if wanted.get(budget.resource)
        ]
        notes = (ruling.note for ruling in rulings if ruling.note is not None)
        # of several the one that lasts longest
        note = max(notes, key=lambda note: note.until_ms or 0, default=None)
        return Ruling(note, earliest(*(ruling.until_ms for ruling in rulings)))

    def _owners(self, node: QuotaNode) -> Iterator[tuple[str, list[str], Iterable[Budget]]]:
        """Whose budgets a queue goes by: names with the names of the queues that share them."""
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
        left, growth = budget.unit_ms - load.unit_ms, load.growth
        # without a run time anything that is left will do
        needs = 1 if run_time_ms is None else units * min(run_time_ms, end_ms - now_ms)
        if needs > left:
            fits_ms = end_ms
            if run_time_ms is not None and units > growth:
                # The less of the period is left, the less it needs:
                # units * (end - t) <= left - growth * (t - now), which is not so yet: t is after now
                fits_ms = min(end_ms, ceil(Fraction(units * end_ms - left - growth * now_ms, units - growth)))
            note = WaitNote(_sentence(owner, budget, units, run_time_ms), fits_ms, WaitReason.BUDGET)
            return Ruling(note, min(fits_ms, load.until_ms))
        moments = [load.until_ms]
        if run_time_ms is not None and now_ms + run_time_ms < end_ms:
            moments.append(end_ms - run_time_ms)  # from then on it needs less by the moment
        elif run_time_ms is not None:
            growth -= units
        if growth > 0:
            moments.append(now_ms + (left - needs) // growth + 1)
        return Ruling(None, min(moments))

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
    """Usage in a period: so far, together with what those that run have declared; by how much it grows each
    ms beyond that, and until when by as much."""

    unit_ms: int
    growth: int
    until_ms: int


def amounts(usage: Usage) -> dict[str, int]:
    """Amounts by resource, over all flavors."""
    found: dict[str, int] = {}
    for fr, amount in usage.items():
        found[fr.resource] = found.get(fr.resource, 0) + amount
    return found


def _sentence(owner: str, budget: Budget, units: int, run_time_ms: int | None) -> str:
    """True until the budget lets it in: what is left changes by the moment, and is no part of it."""
    wants = f"{_units(budget.resource, units)} {budget.resource}"
    if run_time_ms is not None:
        wants += f" for {duration(run_time_ms)}"
    hours = f"{_hours(budget.resource, budget.unit_ms)} {budget.resource} hours"
    return (
        f"needs {wants}, but {owner} has too little left of its {hours} of this {duration(budget.period_ms)}"
    )


def _units(resource: str, units: int) -> str:
    return _decimal(Fraction(units, MILLI if resource == CPU else 1))


def _hours(resource: str, unit_ms: int) -> str:
    return _decimal(Fraction(unit_ms, _HOUR_MS * (MILLI if resource == CPU else 1)))


def _decimal(number: Fraction) -> str:
    """Rounds down to tenths."""
    tenths = number.numerator * 10 // number.denominator
    return str(tenths // 10) if tenths % 10 == 0 else f"{tenths // 10}.{tenths % 10}"
