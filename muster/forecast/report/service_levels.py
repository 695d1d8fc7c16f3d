"""Service levels as tables and as data: by group, and by month of the submission."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from muster.forecast.limits import WITHIN, Levels, WaitLimit
from muster.forecast.report.document import group_fields
from muster.forecast.report.tables import Table
from muster.forecast.report.text import duration, named, points, share
from muster.forecast.results.outcome import SimulationOutcome
from muster.forecast.results.service_levels import (
    LevelKey,
    ServiceLevel,
    by_group,
    by_month,
    service_levels,
)
from muster.forecast.results.waits import in_order

LevelsByKey = Mapping[LevelKey, ServiceLevel]


@dataclass(frozen=True, slots=True)
class LevelsWithin:
    """The service levels of one time, of each side: one side in a forecast, two in a plan."""

    within_s: float
    groups: Sequence[LevelsByKey]
    months: Sequence[LevelsByKey]


def levels_within(
    sides: Sequence[Sequence[SimulationOutcome]], times_s: Sequence[float], begins_ms: int | None
) -> list[LevelsWithin]:
    """Returns the service levels of each time. `begins_ms` is the Unix time of the trace's start."""
    month = by_month(begins_ms)
    return [
        LevelsWithin(
            within_s,
            [service_levels(side, within_s, by_group) for side in sides],
            [service_levels(side, within_s, month) for side in sides],
        )
        for within_s in times_s
    ]


def times(limits: Sequence[WaitLimit], times_s: Sequence[float]) -> list[float]:
    """Returns the times of service levels in limits and in options, in ascending order."""
    return sorted({*times_s, *(limit.max_s for limit in limits if limit.statistic == WITHIN)})


def levels_of_limits(every: Sequence[LevelsWithin], limits: Sequence[WaitLimit]) -> Levels:
    """Returns the shares before and after a change that limits are compared with."""
    by_time = {levels.within_s: levels for levels in every}
    return {
        (limit.group, limit.max_s): _shares(by_time[limit.max_s].groups, LevelKey(limit.group))
        for limit in limits
        if limit.statistic == WITHIN
    }


def level_tables(every: Sequence[LevelsWithin]) -> list[Table]:
    """Returns the shares of jobs that start in time by group and by month; no table without times."""
    if not every:
        return []
    groups = in_order({key.group for levels in every for side in levels.groups for key in side})
    keys = [LevelKey(group) for group in groups if not group.size]
    months = sorted({key for levels in every for side in levels.months for key in side})
    changes = " (changes in percentage points)" if len(every[0].groups) == 2 else ""
    columns = [column for levels in every for column in _columns(levels)]
    return [
        Table(
            f"Jobs that start in time{changes}",
            ("QUEUE", "CLASS", "JOBS", *columns),
            [(*named(key.group)[:2], *_row(key, [levels.groups for levels in every])) for key in keys],
            numbers=2,
        ),
        Table(
            f"Jobs that start in time, by month{changes}",
            ("QUEUE", "MONTH", "JOBS", *columns),
            [
                (named(key.group)[0], key.month, *_row(key, [levels.months for levels in every]))
                for key in months
            ],
            numbers=2,
        ),
    ]


def levels_document(every: Sequence[LevelsWithin]) -> list[dict[str, Any]]:
    """Returns the service levels for programs, of each side."""
    return [
        {
            "within_s": levels.within_s,
            "side": number,
            **group_fields(key.group),
            **({"month": key.month} if key.month else {}),
            **asdict(level),
        }
        for levels in every
        for of_sides in (levels.groups, levels.months)
        for number, side in enumerate(of_sides)
        for key, level in side.items()
    ]


def _columns(levels: LevelsWithin) -> tuple[str, ...]:
    heading = f"WITHIN {duration(levels.within_s)}"
    return (heading, "RANGE") if len(levels.groups) == 1 else (heading, "AFTER", "CHANGE")


def _row(key: LevelKey, times: Sequence[Sequence[LevelsByKey]]) -> list[str]:
    """Returns the number of jobs, and the shares of each time; `times` has the sides of each."""
    jobs = dict.fromkeys(f"{side[key].jobs:,.0f}" if key in side else "-" for side in times[0])
    return [
        " to ".join(jobs),
        *(cell for sides in times for cell in _cells([side.get(key) for side in sides])),
    ]


def _cells(sides: Sequence[ServiceLevel | None]) -> list[str]:
    shares = ["-" if side is None else share(side.share) for side in sides]
    if len(sides) == 1:
        (level,) = sides
        spread = level is not None and level.low < level.high
        return [*shares, f"{share(level.low)} to {share(level.high)}" if level and spread else ""]
    before, after = sides
    return [*shares, points(after.share - before.share) if before and after else "-"]


def _shares(sides: Sequence[LevelsByKey], key: LevelKey) -> tuple[float | None, float | None]:
    before, after = (side[key].share if key in side else None for side in sides)
    return before, after
