"""Headroom: the growth of demand at which limits are first exceeded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from muster.forecast.limits import WaitLimit

STEPS = (1.05, 1.1, 1.2, 1.4, 1.7, 2.0)
"""The factors that are tried from the smallest on, before the interval is bisected."""
PLACES = 2  # factors are percent
EVALUATIONS_MAX = 12
"""An upper bound for one limit: the present demand, all steps, and bisections of the last one."""

Measure = Callable[[float], Sequence[float]]
"""Returns the value of each limit if demand is scaled by a factor; larger values are worse."""


@dataclass(frozen=True, slots=True)
class Headroom:
    """The demand at which a limit is first exceeded."""

    factor: float | None  # None: not up to the last of STEPS; 1: it is exceeded at present
    present: float  # value at the present demand
    value: float  # value at `factor`, or at the last of STEPS


def headroom(limits: Sequence[WaitLimit], measure: Measure) -> list[Headroom]:
    """Returns the headroom of each limit.

    The steps are tried in ascending order and then bisected to a percent: a wait need not grow with demand in
    a system with gangs and priorities, so an interval between two steps may hide an earlier crossing."""
    values: dict[float, Sequence[float]] = {}

    def value(at: int, factor: float) -> float:
        if factor not in values:
            values[factor] = measure(factor)
        return values[factor][at]

    return [_first_exceeded(limit, partial(value, at)) for at, limit in enumerate(limits)]


def _first_exceeded(limit: WaitLimit, value: Callable[[float], float]) -> Headroom:
    present = value(1.0)
    if limit.is_exceeded_by(present):
        return Headroom(1.0, present, present)
    below = 1.0
    for above in STEPS:
        if limit.is_exceeded_by(value(above)):
            break
        below = above
    else:
        return Headroom(None, present, value(STEPS[-1]))
    while (middle := round((below + above) / 2, PLACES)) not in (below, above):
        below, above = (below, middle) if limit.is_exceeded_by(value(middle)) else (middle, above)
    return Headroom(above, present, value(above))
