"""Usage of budgets in one future: by period, and when each budget is first used up."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from muster import admission as core
from muster.admission.quantities import CPU, MILLI


@dataclass(frozen=True, slots=True)
class BudgetOutcome:
    """A budget in one future. Hours are of its resource."""

    owner: str  # such as "cohort ml"
    budget: core.Budget
    periods: int  # that began; 1 for a rolling budget
    used_up: int  # number of periods in which it was used up
    first_ms: int | None  # when it was first used up
    used_hours: float  # mean over the periods; of a rolling budget the most in a period

    @property
    def limit_hours(self) -> float:
        """The hours of a period, without hours carried over."""
        return self.budget.unit_ms / _unit_ms_of_hour(self.budget)


Held = tuple[int, int, int]
"""The start and the end of a time in milliseconds, and the units held."""


def budget_outcome(owner: str, budget: core.Budget, held: Iterable[Held], end_ms: int) -> BudgetOutcome:
    """Returns the outcome of a budget in a future that runs from 0 to `end_ms`."""
    usage = _Usage(held, end_ms)
    used, exhausted = zip(*_periods(budget, usage, end_ms), strict=True)
    times_ms = [at_ms for at_ms in exhausted if at_ms is not None]
    mean = max(used) if budget.rolling else sum(used) / len(used)
    return BudgetOutcome(
        owner,
        budget,
        periods=1 if budget.rolling else len(used),
        used_up=min(len(times_ms), 1) if budget.rolling else len(times_ms),
        first_ms=min(times_ms, default=None),
        used_hours=mean / _unit_ms_of_hour(budget),
    )


def _unit_ms_of_hour(budget: core.Budget) -> int:
    return core.HOUR_MS * (MILLI if budget.resource == CPU else 1)


def _periods(budget: core.Budget, usage: "_Usage", end_ms: int) -> list[tuple[int, int | None]]:
    """Returns the usage of each period, and when the budget is used up in it. A rolling budget has a period
    that ends with each hour."""
    periods: list[tuple[int, int | None]] = []
    at_ms, carried = 0, 0
    while at_ms < end_ms or not periods:
        start_ms, next_ms = budget.period(at_ms)
        before, limit = usage.until(max(0, start_ms)), budget.unit_ms + carried
        used = usage.until(min(next_ms, end_ms)) - before
        exhausted_ms = max(at_ms, usage.reaches_ms(before + limit)) if used >= limit else None
        periods.append((used, exhausted_ms))
        carried = max(0, budget.unit_ms - used) if budget.carries_over else 0
        at_ms = next_ms
    return periods


class _Usage:
    """The sum of units times milliseconds since 0, which is linear between the changes of the units held."""

    def __init__(self, held: Iterable[Held], end_ms: int) -> None:
        changes: Counter[int] = Counter({0: 0, end_ms: 0})
        for since_ms, until_ms, units in held:
            changes[since_ms] += units
            changes[until_ms] -= units
        self._times_ms = sorted(changes)
        self._units = list(accumulate(changes[at_ms] for at_ms in self._times_ms))
        parts = (
            units * (after - before)
            for units, (before, after) in zip(self._units, pairwise(self._times_ms), strict=False)
        )
        self._sums: Sequence[int] = list(accumulate(parts, initial=0))

    def until(self, at_ms: int) -> int:
        """Returns the sum at a time up to the end."""
        last = bisect_left(self._times_ms, at_ms)
        if self._times_ms[last] == at_ms:
            return self._sums[last]
        return self._sums[last - 1] + self._units[last - 1] * (at_ms - self._times_ms[last - 1])

    def reaches_ms(self, amount: int) -> int:
        """Returns when the sum reaches an amount that is not larger than the last sum."""
        after = bisect_left(self._sums, amount)
        if after == 0 or self._sums[after] == amount:
            return self._times_ms[after]
        return self._times_ms[after - 1] - (self._sums[after - 1] - amount) // self._units[after - 1]
