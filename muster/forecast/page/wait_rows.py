"""Waits of all jobs, of each ClusterQueue, and of each of its priority classes, over all futures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster.forecast.page.side import ForecastSide
from muster.forecast.page.spread import PairedChange, Spread
from muster.forecast.results.comparison import Comparison, Difference
from muster.forecast.results.effects import Effects
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
    is_folded: bool = False  # the change has no effect on it


def wait_rows(
    sides: Sequence[ForecastSide], waits: Sequence[FutureWaits], comparison: Comparison
) -> list[WaitRow]:
    """Returns all rows: all jobs first, then each queue; of one side in the order of the configuration, of
    two the largest effect first."""
    if len(sides) == 1:
        queues = {name: place for place, name in enumerate(queue_names(sides), start=1)}
        groups = sorted(
            (group for group in waits[0][0] if not group.size),
            key=lambda group: (queues.get(group.queue, 0), group.priority_class),
        )
        return [WaitRow(group, (_side_waits(waits[0], group),), None) for group in groups]
    effects = Effects(comparison)
    compared = [group for group in effects.groups if not group.size]
    shown = set(effects.changed_rows(compared))
    return [
        WaitRow(
            group,
            tuple(_side_waits(side, group) for side in waits),
            _changes(effects.differences.get(group)),
            is_folded=group not in shown,
        )
        for group in compared
    ]


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


def _changes(differences: Mapping[str, Difference] | None) -> tuple[PairedChange, ...] | None:
    if not differences:
        return None
    statistics = [differences[name] for _, name in STATISTICS]
    return tuple(PairedChange(of.change_s, of.agree, of.futures) for of in statistics)
