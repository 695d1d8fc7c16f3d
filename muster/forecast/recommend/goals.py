"""Goals: limits of waiting times as text, and the measured values of one future."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from muster.configuration.durations import SECONDS, seconds
from muster.forecast.limits import WITHIN, WaitLimit
from muster.forecast.placement import PlacedJob
from muster.forecast.recommend.errors import RecommendError
from muster.forecast.results.outcome import SimulationOutcome
from muster.forecast.results.waits import is_cancelled, quantile, waits_ms

STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": lambda waits: sum(waits) / len(waits),
    "p50": lambda waits: quantile(waits, 0.5),
    "p90": lambda waits: quantile(waits, 0.9),
    "p95": lambda waits: quantile(waits, 0.95),
    "p99": lambda waits: quantile(waits, 0.99),
}
GOAL = re.compile(rf"(?P<names>.*?)\s*(?P<statistic>{'|'.join(STATISTICS)})\s*<=\s*(?P<limit>\S+)")
LEVEL = re.compile(rf"(?P<names>.*?)\s*{WITHIN}\s+(?P<limit>\S+)\s*>=\s*(?P<percent>[0-9]+(\.[0-9]+)?)%")
UNITS = {unit: SECONDS[unit] for unit in "smh"} | {"d": 24 * SECONDS["h"]}
SYNTAX = (
    f'"[QUEUE [CLASS]] {"|".join(STATISTICS)} <= TIME" or "[QUEUE [CLASS]] {WITHIN} TIME >= PERCENT%", '
    f'such as "inference p90 <= 10m" or "inference {WITHIN} 10m >= 95%"'
)


def parse_goal(text: str) -> WaitLimit:
    """Parses a goal such as `inference p90 <= 10m`; without a queue, it applies to all jobs.

    Raises: RecommendError."""
    match = GOAL.fullmatch(text.strip()) or LEVEL.fullmatch(text.strip())
    names = match["names"].split() if match else []
    if match is None or len(names) > 2:
        raise RecommendError(f"goal {text!r}: expected {SYNTAX}")
    queue, priority_class = (*names, "", "")[:2]
    limit_s = parse_time(match["limit"], f"goal {text!r}")
    if match.re is GOAL:
        return WaitLimit(queue, priority_class, match["statistic"], limit_s)
    percent = float(match["percent"])
    if not 0 < percent <= 100:
        raise RecommendError(f"goal {text!r}: expected more than 0% and at most 100%")
    return WaitLimit(queue, priority_class, WITHIN, limit_s, percent / 100)


def parse_time(text: str, where: str) -> float:
    """Returns a duration in seconds. Raises: RecommendError."""
    if (exact := seconds(text, UNITS)) is None:
        raise RecommendError(
            f"{where}: {text!r} is not a duration; expected one such as 90s, 10m, 1h30m or 2d"
        )
    return float(exact)


def written(goal: WaitLimit) -> str:
    """Returns the goal as text, such as `inference p90 <= 10m`."""
    return f"{goal.named} {goal.bound_text}"


def check_goals(goals: Sequence[WaitLimit], jobs: Sequence[PlacedJob], queues: Sequence[str]) -> None:
    """Raises: RecommendError for a goal with an unknown queue, or a goal that applies to no job of the
    trace."""
    for goal in goals:
        if goal.queue and goal.queue not in queues:
            raise RecommendError(
                f"goal {written(goal)!r}: queue {goal.queue!r} is unknown; expected one of: "
                f"{', '.join(sorted(queues))}"
            )
        if not any(applies_to(goal, job.queue, job.priority_class) for job in jobs):
            classes = sorted({job.priority_class for job in jobs if goal.queue in ("", job.queue)} - {""})
            raise RecommendError(
                f"goal {written(goal)!r}: the trace has no such job; expected a queue and class that it "
                f"has{f', such as {goal.queue} {classes[0]}' if classes else ''}"
            )


@dataclass(frozen=True, slots=True)
class Measured:
    """The result of one future."""

    # Value of each goal: seconds, inf if it is the wait of a job that never starts; or a share of late jobs.
    values: tuple[float, ...]
    wait_s: float  # mean of all jobs that start
    never: int  # number of jobs that never start
    cost: float | None = None  # of a month, if usage is paid; None: the candidate's quotas are


def measured(outcome: SimulationOutcome, goals: Sequence[WaitLimit]) -> Measured:
    """Returns the values of the goals in a future. A job that never starts has an infinite wait; jobs that
    were cancelled before they started are omitted."""
    pairs = [pair for pair in zip(outcome.jobs, waits_ms(outcome), strict=True) if not is_cancelled(*pair)]
    waits = [inf if wait_ms is None else wait_ms / 1000 for _, wait_ms in pairs]
    columns: list[list[float]] = [[] for _ in goals]
    for (job, _), wait in zip(pairs, waits, strict=True):
        for goal, column in zip(goals, columns, strict=True):
            if applies_to(goal, job.queue, job.priority_class):
                column.append(wait)
    values = (_value(goal, column) if column else 0.0 for goal, column in zip(goals, columns, strict=True))
    started = [wait for wait in waits if wait < inf]
    return Measured(tuple(values), sum(started) / len(started) if started else 0.0, len(waits) - len(started))


def _value(goal: WaitLimit, waits_s: Sequence[float]) -> float:
    if goal.statistic == WITHIN:
        return sum(wait_s > goal.max_s for wait_s in waits_s) / len(waits_s)
    return STATISTICS[goal.statistic](sorted(waits_s))


def applies_to(goal: WaitLimit, queue: str, priority_class: str) -> bool:
    """Returns whether a goal is about jobs of a queue and class."""
    return goal.queue in ("", queue) and goal.priority_class in ("", priority_class)


def excess(value: float, goal: WaitLimit) -> float:
    """Returns the excess of a value over the goal: as a share of the limit of a wait, or the missing share of
    jobs; 0 if the goal is met."""
    if not goal.is_exceeded_by(value):
        return 0.0
    return (value - goal.bound) / (1.0 if goal.statistic == WITHIN else max(goal.bound, 1.0))
