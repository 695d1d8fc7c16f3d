"""Budgets: how much of a resource a queue, or a cohort with all its queues, may use in a period.

A workload uses all quota that it holds, for as long as it holds it. It is admitted while something of the
budget is left; if it declares its run time, only if all that it would use in this period is left, besides
what running workloads that declare theirs may still use. A workload that runs when the budget is used up
may finish: what it uses beyond is not taken from the next period.
"""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import ceil

from muster.admission.model import Budget, Snapshot, WaitReason
from muster.admission.quantities import CPU, MILLI
from muster.admission.quota.tree import QuotaNode, Usage
from muster.admission.state.holdings import Holding
from muster.admission.wait_note import WaitNote, duration

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

    def refusal(self, node: QuotaNode, usage: Usage, run_time_ms: int | None) -> WaitNote | None:
        """Why a workload that would use this is not admitted to the queue at `node`; None if it is."""
        wanted = amounts(usage)
        refused = (
            self._refusal(owner, queues, budget, wanted[budget.resource], run_time_ms)
            for owner, queues, budgets in self._owners(node)
            for budget in budgets
            if wanted.get(budget.resource)
        )
        # of several the one that lasts longest
        return max(filter(None, refused), key=lambda note: note.until_ms or 0, default=None)

    def _owners(self, node: QuotaNode) -> Iterator[tuple[str, list[str], Iterable[Budget]]]:
        """Whose budgets a queue goes by: names with the names of the queues that share them."""
        name = node.name
        yield f"ClusterQueue {name}", [name], self._snapshot.cluster_queues[name].budgets
        for parent in node.lineage[1:]:
            cohort = self._snapshot.cohorts.get(parent.name)
            if cohort is not None and cohort.budgets:
                yield f"cohort {parent.name}", self._queues[parent.name], cohort.budgets

    def _refusal(
        self, owner: str, queues: Iterable[str], budget: Budget, units: int, run_time_ms: int | None
    ) -> WaitNote | None:
        start_ms, end_ms = budget.period(self.now_ms)
        used, promised, growing = self._used(queues, budget.resource, start_ms, end_ms)
        left = budget.unit_ms - used - promised
        # without a run time anything that is left will do
        needs = 1 if run_time_ms is None else units * min(run_time_ms, end_ms - self.now_ms)
        if needs <= left:
            return None
        until_ms = end_ms
        if run_time_ms is not None and units > growing:  # the less of the period is left, the less it needs
            # units * (end - t) <= left - growing * (t - now), which is not so yet: t is after now
            fits_ms = ceil(Fraction(units * end_ms - left - growing * self.now_ms, units - growing))
            until_ms = min(end_ms, fits_ms)
        why = _sentence(owner, budget, units, run_time_ms, used, promised)
        return WaitNote(why, until_ms, WaitReason.BUDGET)

    def _used(self, queues: Iterable[str], resource: str, start_ms: int, end_ms: int) -> tuple[int, int, int]:
        """Usage in the period: so far, what those that declare their run times may still use, and what
        the others use now."""
        used = promised = growing = 0
        for name in queues:
            for spent in self._snapshot.spent.get(name, ()):
                if (spent.resource, spent.since_ms) == (resource, start_ms):
                    used += spent.unit_ms
            for holding in self._holdings[name].values():
                units = amounts(holding.usage).get(resource, 0)
                used += units * max(0, self.now_ms - max(start_ms, holding.reserved_at_ms))
                run_time_ms = holding.workload.run_time_ms
                if run_time_ms is None:
                    growing += units
                else:
                    ends_ms = min(end_ms, holding.reserved_at_ms + run_time_ms)
                    promised += units * max(0, ends_ms - self.now_ms)
        return used, promised, growing


def amounts(usage: Usage) -> dict[str, int]:
    """Amounts by resource, over all flavors."""
    found: dict[str, int] = {}
    for fr, amount in usage.items():
        found[fr.resource] = found.get(fr.resource, 0) + amount
    return found


def _sentence(
    owner: str, budget: Budget, units: int, run_time_ms: int | None, used: int, promised: int
) -> str:
    wants = f"{_units(budget.resource, units)} {budget.resource}"
    if run_time_ms is not None:
        wants += f" for {duration(run_time_ms)}"
    spoken_for = f", and {_hours(budget.resource, promised)} are needed by those that run" if promised else ""
    return (
        f"needs {wants}, but {owner} has used {_hours(budget.resource, used)} of its "
        f"{_hours(budget.resource, budget.unit_ms)} {budget.resource} hours of this "
        f"{duration(budget.period_ms)}{spoken_for}"
    )


def _units(resource: str, units: int) -> str:
    return _decimal(Fraction(units, MILLI if resource == CPU else 1))


def _hours(resource: str, unit_ms: int) -> str:
    return _decimal(Fraction(unit_ms, _HOUR_MS * (MILLI if resource == CPU else 1)))


def _decimal(number: Fraction) -> str:
    """Rounds down to tenths."""
    tenths = number.numerator * 10 // number.denominator
    return str(tenths // 10) if tenths % 10 == 0 else f"{tenths // 10}.{tenths % 10}"
