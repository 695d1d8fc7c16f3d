"""Goals: limits of waiting times as text, and the measured values of one future."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from muster.configuration.durations import SECONDS, seconds
from muster.forecast.limits import WaitLimit
from muster.forecast.placement import PlacedJob
from muster.forecast.recommend.errors import RecommendError
from muster.forecast.report.text import duration
from muster.forecast.results.outcome import SimulationOutcome
from muster.forecast.results.waits import is_cancelled, quantile, waits_ms

STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": lambda waits: sum(waits) / len(waits),
    "p50": lambda waits: quantile(waits, 0.5),
    "p90": lambda waits: quantile(waits, 0.9),
    "p99": lambda waits: quantile(waits, 0.99),
}
GOAL = re.compile(rf"(?P<names>.*?)\s*(?P<statistic>{'|'.join(STATISTICS)})\s*<=\s*(?P<limit>\S+)")
UNITS = {unit: SECONDS[unit] for unit in "smh"} | {"d": 24 * SECONDS["h"]}
SYNTAX = '"[QUEUE [CLASS]] mean|p50|p90|p99 <= TIME", such as "inference p90 <= 10m"'


def parse_goal(text: str) -> WaitLimit:
    """Parses a goal such as `inference p90 <= 10m`; without a queue, it applies to all jobs.

    Raises: RecommendError."""
    match = GOAL.fullmatch(text.strip())
    names = match["names"].split() if match else []
    if match is None or len(names) > 2:
        raise RecommendError(f"goal {text!r}: expected {SYNTAX}")
    queue, priority_class = (*names, "", "")[:2]
    return WaitLimit(queue, priority_class, match["statistic"], _seconds(match["limit"], text))


def _seconds(limit: str, goal: str) -> float:
    if (exact := seconds(limit, UNITS)) is None:
        raise RecommendError(
            f"goal {goal!r}: {limit!r} is not a duration; expected one such as 90s, 10m, 1h30m or 2d"
        )
    return float(exact)


def named(goal: WaitLimit) -> str:
    """Returns the goal without its limit, such as `inference p90`."""
    return " ".join(part for part in (goal.queue or "all", goal.priority_class, goal.statistic) if part)


def written(goal: WaitLimit) -> str:
    """Returns the goal as text, such as `inference p90 <= 10m`."""
    return f"{named(goal)} <= {duration(goal.max_s)}"


def check_goals(goals: Sequence[WaitLimit], jobs: Sequence[PlacedJob], queues: Sequence[str]) -> None:
    """Raises: RecommendError for a goal with an unknown queue, or a goal that applies to no job of the
    trace."""
    for goal in goals:
        if goal.queue and goal.queue not in queues:
            raise RecommendError(
                f"goal {written(goal)!r}: queue {goal.queue!r} is unknown; expected one of: "
                f"{', '.join(sorted(queues))}"
            )
        if not any(_is_about(goal, job.queue, job.priority_class) for job in jobs):
            classes = sorted({job.priority_class for job in jobs if goal.queue in ("", job.queue)} - {""})
            raise RecommendError(
                f"goal {written(goal)!r}: the trace has no such job; expected a queue and class that it "
                f"has{f', such as {goal.queue} {classes[0]}' if classes else ''}"
            )


@dataclass(frozen=True, slots=True)
class Measured:
    """The result of one future."""

    # Value of each goal's statistic in seconds; inf if it is the wait of a job that never starts.
    values: tuple[float, ...]
    wait_s: float  # mean of all jobs that start
    never: int  # number of jobs that never start


def measured(outcome: SimulationOutcome, goals: Sequence[WaitLimit]) -> Measured:
    """Returns the values of the goals in a future. A job that never starts has an infinite wait; jobs that
    were cancelled before they started are omitted."""
    pairs = [pair for pair in zip(outcome.jobs, waits_ms(outcome), strict=True) if not is_cancelled(*pair)]
    waits = [inf if wait_ms is None else wait_ms / 1000 for _, wait_ms in pairs]
    columns: list[list[float]] = [[] for _ in goals]
    for (job, _), wait in zip(pairs, waits, strict=True):
        for goal, column in zip(goals, columns, strict=True):
            if _is_about(goal, job.queue, job.priority_class):
                column.append(wait)
    values = (
        STATISTICS[goal.statistic](sorted(column)) if column else 0.0
        for goal, column in zip(goals, columns, strict=True)
    )
    started = [wait for wait in waits if wait < inf]
    return Measured(tuple(values), sum(started) / len(started) if started else 0.0, len(waits) - len(started))


def _is_about(goal: WaitLimit, queue: str, priority_class: str) -> bool:
    return goal.queue in ("", queue) and goal.priority_class in ("", priority_class)


def excess(value_s: float, goal: WaitLimit) -> float:
    """Returns the excess of a value over the goal, as a share of its limit; 0 if the goal is met."""
    return max(0.0, value_s - goal.max_s) / max(goal.max_s, 1.0)
