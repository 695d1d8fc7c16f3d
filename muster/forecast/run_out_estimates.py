"""Estimates when budgets are used up, in the same futures as starts, with submissions until then."""

from collections.abc import Callable, Mapping, Sequence

from muster.forecast.assumptions import Assumptions
from muster.forecast.learning.delays import AS_ASSUMED, Delays
from muster.forecast.observed_state import State
from muster.forecast.simulation.run_outs import BudgetKey
from muster.forecast.start_estimates import HORIZON_MS, StartEstimate, resumed

PAST_MIN = 20
"""Number of past jobs below which nothing is said about the end of a period."""


def estimated_run_outs(
    state: State,
    assumptions: Assumptions,
    seeds: Sequence[int],
    delays: Delays = AS_ASSUMED,
    goes_on: Callable[[], bool] = lambda: True,
) -> Mapping[BudgetKey, StartEstimate]:
    """Simulates one future per seed to the end of the periods; stops when `goes_on` returns False. Returns
    the time at which each budget is used up, None if that is not in its period or within HORIZON_MS. Empty
    if too few past jobs are known to expect further ones, and if no future was completed."""
    until_ms = state.now_ms + HORIZON_MS
    if state.learned.arrivals.count < PAST_MIN:
        return {}
    futures = []
    for seed in seeds:
        used_up = resumed(state, assumptions, seed, delays, until_ms)[0].budgets_used_up_ms(until_ms, goes_on)
        if used_up is None:
            break
        futures.append(used_up)
    return {
        key: StartEstimate(state.now_ms, [future[key] for future in futures], {})
        for key in (futures[0] if futures else ())
    }
