"""Waits of all jobs, of each ClusterQueue, and of each of its priority classes, over all futures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster.forecast.page.side import Side
from muster.forecast.page.spread import Change, Spread
from muster.forecast.results.comparison import Difference
from muster.forecast.results.waits import Group, Waits

STATISTICS = (("Median", "p50_s"), ("90th percentile", "p90_s"), ("99th percentile", "p99_s"))
FutureWaits = Sequence[Mapping[Group, Waits]]
"""The waits of one side: by group, a mapping for each future."""


@dataclass(frozen=True, slots=True)
class SideWaits:
    """One group's waits in one side: the jobs of the drawn future and those of them that never start, and
    each statistic in seconds over the futures in which any job starts; None without such a future."""

    jobs: int
    never: int
    statistics: tuple[Spread, ...] | None


@dataclass(frozen=True, slots=True)
class WaitRow:
    """A group with its waits in each side (None: the side lacks the group). `changes` are those of the
    statistics, where two sides have them."""

    group: Group
    sides: tuple[SideWaits | None, ...]
    changes: tuple[Change, ...] | None


def wait_rows(
    sides: Sequence[Side], waits: Sequence[FutureWaits], differences: Sequence[Difference]
) -> list[WaitRow]:
    """Returns all rows: first that of all jobs, then each queue's in the order of the configurations."""
    queues = {name: place for place, name in enumerate(queue_names(sides), start=1)}
    groups = {group for side in waits for group in side[0] if not group.size}
    changed = {(found.group, found.statistic): found for found in differences}
    rows = []
    for group in sorted(groups, key=lambda group: (queues.get(group.queue, 0), group.priority_class)):
        found = tuple(_side_waits(side, group) for side in waits)
        compared = (group, STATISTICS[0][1]) in changed
        rows.append(WaitRow(group, found, _changes(group, changed) if compared else None))
    return rows


def queue_names(sides: Sequence[Side]) -> list[str]:
    """Returns every ClusterQueue, in the order of the configurations, then those that only jobs name."""
    declared = [queue.name for side in sides for queue in side.drawn.queues]
    return list(dict.fromkeys([*declared, *(job.queue for side in sides for job in side.drawn.jobs)]))


def _side_waits(futures: FutureWaits, group: Group) -> SideWaits | None:
    if (drawn := futures[0].get(group)) is None:
        return None
    started = [future[group] for future in futures if group in future and future[group].count]
    statistics = (
        tuple(Spread.over([getattr(waits, name) for waits in started]) for _, name in STATISTICS)
        if started
        else None
    )
    return SideWaits(drawn.count + drawn.never, drawn.never, statistics)


def _changes(group: Group, changed: Mapping[tuple[Group, str], Difference]) -> tuple[Change, ...]:
    found = [changed[group, name] for _, name in STATISTICS]
    return tuple(Change(one.change_s, one.agree, one.futures) for one in found)
