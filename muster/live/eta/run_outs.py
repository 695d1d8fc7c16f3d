"""The estimated times at which budgets are used up, and their annotation on ClusterQueues."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import msgspec

from muster import admission as core
from muster.forecast.assumptions import Assumptions
from muster.forecast.futures import SEEDS
from muster.forecast.run_out_estimates import estimated_run_outs
from muster.live.eta.start_range import StartRange, start_range
from muster.live.state import ObservedState
from muster.objects.kueue_queues import ClusterQueue
from muster.objects.meta import millis, rfc3339
from muster.objects.names import BUDGET_FORECAST

REWRITTEN_MS = 3_600_000
VALID_MS = 4 * REWRITTEN_MS
"""An estimate that was not written again for longer is ignored: the controller no longer estimates."""


@dataclass(frozen=True, slots=True)
class RunOut:
    """The time at which a budget is used up, as a range over the futures; None: not in its period."""

    owner: str  # such as "cohort ml"
    budget: str  # core.BudgetUsage.description
    range: StartRange

    def has_moved(self, before: "RunOut") -> bool:
        """Returns whether the range differs noticeably from an earlier one, or must be written again."""
        is_old = self.range.at_ms - before.range.at_ms >= REWRITTEN_MS
        return is_old or self.range.has_moved(before.range)


RunOuts = tuple[RunOut, ...]


def run_outs(state: ObservedState, goes_on: Callable[[], bool]) -> dict[str, RunOuts]:
    """Returns the estimates for the budgets of each ClusterQueue and of the cohorts above it, by
    ClusterQueue. Empty without budgets or without a forecast: see estimated_run_outs."""
    usages = core.Engine(state.snapshot(), state.configuration.rules).budget_usage(state.now_ms)
    if not usages:
        return {}
    estimates = estimated_run_outs(state, Assumptions(), range(SEEDS), state.learned.delays, goes_on)
    by_queue: dict[str, list[RunOut]] = defaultdict(list)
    for usage in usages:
        estimate = estimates.get((usage.is_cohort, usage.name, usage.budget))
        if estimate is not None:
            run_out = RunOut(usage.owner, usage.description, start_range(estimate))
            for queue in usage.queues:
                by_queue[queue].append(run_out)
    return {queue: tuple(of_queue) for queue, of_queue in by_queue.items()}


class _Budget(msgspec.Struct):
    """A budget in the annotation."""

    owner: str
    budget: str
    at: str
    futures: int
    p10: str | None = None
    p50: str | None = None
    p90: str | None = None


def annotation(estimates: Iterable[RunOut]) -> str:
    """Returns the estimates as JSON."""
    budgets = []
    for estimate in estimates:
        of = estimate.range
        times = (None if at_ms is None else rfc3339(at_ms) for at_ms in (of.p10_ms, of.p50_ms, of.p90_ms))
        budgets.append(_Budget(estimate.owner, estimate.budget, rfc3339(of.at_ms), of.futures, *times))
    return msgspec.json.encode(budgets).decode()


def announced(queue: ClusterQueue) -> RunOuts:
    """Returns the estimates on a ClusterQueue; none if the annotation is missing or unreadable."""
    text = queue.metadata.annotations.get(BUDGET_FORECAST)
    try:
        return tuple(map(_run_out, msgspec.json.decode(text, type=list[_Budget]))) if text else ()
    except ValueError:  # msgspec's and datetime's
        return ()


def _run_out(budget: _Budget) -> RunOut:
    p10_ms, p50_ms, p90_ms = (
        None if at is None else millis(at) for at in (budget.p10, budget.p50, budget.p90)
    )
    at_range = StartRange(millis(budget.at), p10_ms, p50_ms, p90_ms, budget.futures)
    return RunOut(budget.owner, budget.budget, at_range)


def current(usage: core.BudgetUsage, queues: Mapping[str, ClusterQueue], now_ms: int) -> StartRange | None:
    """Returns the announced estimate for a budget that is not used up; None if there is none, if it is of an
    earlier period or too old, or if its median has passed."""
    since_ms = now_ms - VALID_MS if usage.budget.rolling else max(now_ms - VALID_MS, usage.start_ms)
    for name in usage.queues:
        for estimate in announced(queues[name]) if name in queues else ():
            if (estimate.owner, estimate.budget) == (usage.owner, usage.description):
                of, median_ms = estimate.range, estimate.range.p50_ms
                is_true = of.at_ms >= since_ms and (median_ms is None or median_ms > now_ms)
                return of if is_true else None
    return None
