"""Waits of all jobs, of each ClusterQueue, and of each of its priority classes, over all futures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster.forecast.page.side import ForecastSide
from muster.forecast.page.spread import PairedChange, Spread
from muster.forecast.results.comparison import Difference
from muster.forecast.results.waits import JobGroup, Waits

STATISTICS = (("Median", "p50_s"), ("90th percentile", "p90_s"), ("99th percentile", "p99_s"))
FutureWaits = Sequence[Mapping[JobGroup, Waits]]
"""The waits of one side: a mapping by group for each future."""


@dataclass(frozen=True, slots=True)
class SideWaits:
    """The waits of one group in one side."""

    jobs: int  # in the drawn future
    never: int  # of these, jobs that never start
    # In seconds, over the futures in which a job starts; None if there is no such future.
    statistics: tuple[Spread, ...] | None


@dataclass(frozen=True, slots=True)
class WaitRow:
    """A group with its waits in each side."""

    group: JobGroup
    sides: tuple[SideWaits | None, ...]  # None: the side lacks the group
    changes: tuple[PairedChange, ...] | None  # of the statistics, if both sides have them


def wait_rows(
    sides: Sequence[ForecastSide], waits: Sequence[FutureWaits], differences: Sequence[Difference]
) -> list[WaitRow]:
    """Returns all rows: all jobs first, then each queue in the order of the configurations."""
    queues = {name: place for place, name in enumerate(queue_names(sides), start=1)}
    groups = {group for side in waits for group in side[0] if not group.size}
    changed = {(difference.group, difference.statistic): difference for difference in differences}
    rows = []
    for group in sorted(groups, key=lambda group: (queues.get(group.queue, 0), group.priority_class)):
        by_side = tuple(_side_waits(side, group) for side in waits)
        compared = (group, STATISTICS[0][1]) in changed
        rows.append(WaitRow(group, by_side, _changes(group, changed) if compared else None))
    return rows


def queue_names(sides: Sequence[ForecastSide]) -> list[str]:
    """Returns every ClusterQueue in the order of the configurations, then names that occur only in jobs."""
    declared = [queue.name for side in sides for queue in side.drawn.queues]
    return list(dict.fromkeys([*declared, *(job.queue for side in sides for job in side.drawn.jobs)]))


def _side_waits(futures: FutureWaits, group: JobGroup) -> SideWaits | None:
    if (drawn := futures[0].get(group)) is None:
        return None
    started = [future[group] for future in futures if group in future and future[group].count]
    statistics = (
        tuple(Spread.over([getattr(waits, name) for waits in started]) for _, name in STATISTICS)
        if started
        else None
    )
    return SideWaits(drawn.count + drawn.never, drawn.never, statistics)


def _changes(group: JobGroup, changed: Mapping[tuple[JobGroup, str], Difference]) -> tuple[PairedChange, ...]:
    differences = [changed[group, name] for _, name in STATISTICS]
    return tuple(
        PairedChange(difference.change_s, difference.agree, difference.futures) for difference in differences
    )
