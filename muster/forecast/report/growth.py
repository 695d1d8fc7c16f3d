"""The growth of autoscaled jobs as a table and as data."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from muster.forecast.report.tables import Table
from muster.forecast.report.text import change, duration, share
from muster.forecast.results.growth import GrowthWaits, growth_waits
from muster.forecast.results.outcome import SimulationOutcome

TITLE = "Growth of autoscaled jobs"
ALL = "all queues"
NONE = "-"


def growth_tables(outcomes: Sequence[SimulationOutcome]) -> list[Table]:
    """Returns the waits of workers above the minimum, and how long jobs have less than they ask for; no table
    without autoscaled jobs."""
    rows = [
        (
            growth.queue or ALL,
            f"{growth.jobs:,.0f}",
            f"{growth.granted:,.0f}",
            *_waits(growth),
            f"{growth.never:,.0f}" if growth.never else NONE,
            duration(growth.below_s),
            share(growth.below_share),
        )
        for growth in growth_waits(outcomes)
    ]
    columns = ("QUEUE", "JOBS", "WORKERS GRANTED", "MEAN WAIT", "P90", "NEVER", "BELOW ASKED", "OF RUN TIME")
    return [Table(TITLE, columns, rows, numbers=1)] if rows else []


def growth_change_tables(
    before: Sequence[SimulationOutcome], after: Sequence[SimulationOutcome]
) -> list[Table]:
    """Returns the growth of both sides of a plan; no table without autoscaled jobs."""
    sides = [{growth.queue: growth for growth in growth_waits(side)} for side in (before, after)]
    rows = [_row(queue, *(side.get(queue) for side in sides)) for queue in sorted({*sides[0], *sides[1]})]
    of_waits = ("MEAN WAIT", "AFTER", "CHANGE", "P90", "AFTER")
    of_sizes = ("NEVER", "AFTER", "BELOW ASKED", "AFTER", "CHANGE")
    return [Table(TITLE, ("QUEUE", *of_waits, *of_sizes), rows, numbers=1)] if rows else []


def growth_document(outcomes: Sequence[SimulationOutcome]) -> list[dict[str, Any]]:
    """Returns the growth for programs; the first row, without a queue, is of all queues."""
    return [asdict(growth) for growth in growth_waits(outcomes)]


def _row(queue: str, before: GrowthWaits | None, after: GrowthWaits | None) -> tuple[str, ...]:
    """Returns the row of a queue; the cells of a side without autoscaled jobs are empty."""
    (mean, p90), (mean_after, p90_after) = (_waits(side) for side in (before, after))
    waits = _change(*(side.mean_s if side is not None and side.granted else None for side in (before, after)))
    below = [None if side is None else side.below_s for side in (before, after)]
    never = (NONE if side is None or not side.never else f"{side.never:,.0f}" for side in (before, after))
    texts = (NONE if seconds is None else duration(seconds) for seconds in below)
    return (queue or ALL, mean, mean_after, waits, p90, p90_after, *never, *texts, _change(*below))


def _waits(growth: GrowthWaits | None) -> tuple[str, str]:
    if growth is None or not growth.granted:
        return NONE, NONE
    return duration(growth.mean_s), duration(growth.p90_s)


def _change(before_s: float | None, after_s: float | None) -> str:
    return NONE if before_s is None or after_s is None else change(after_s - before_s)
