"""Use of flavors, and of teams: the workloads of a namespace."""

from collections import defaultdict
from dataclasses import dataclass
from typing import ClassVar

from muster.controller.passes.queue_counts import Share
from muster.live.overview.document import Amounts
from muster.live.overview.overview import Overview
from muster.live.overview.tree import added, requested


@dataclass(frozen=True, slots=True)
class FlavorUsage:
    """A flavor's resource over all ClusterQueues and Cohorts: the quota of all, and what so many workloads
    hold of it."""

    flavor: str
    resource: str
    nominal: int
    used: int
    workloads: int

    QUANTITIES: ClassVar = ("nominal", "used")


@dataclass(frozen=True, slots=True)
class TeamUsage:
    """The workloads of a namespace that hold quota, with all that they use, and those that wait, with what
    they ask for and since when the first of them does."""

    namespace: str
    running: int
    waiting: int
    used: Amounts
    demand: Amounts
    oldest_ms: int | None


def flavor_usage(seen: Overview) -> tuple[FlavorUsage, ...]:
    """Returns the use of all flavors, by flavor and resource."""
    sums: dict[tuple[str, str], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for node in seen.usage:
        for fr, of in node.columns.items() if node.parent is None else ():
            nominal, used = sums[fr]
            sums[fr] = nominal + of.total, used + of.used
    users: dict[tuple[str, str], int] = defaultdict(int)
    for share in seen.counts.shares.values():
        for column in {column for column, _ in share.usage}:
            users[column] += 1
    return tuple(
        FlavorUsage(*column, nominal, used, users[column]) for column, (nominal, used) in sorted(sums.items())
    )


def team_usage(seen: Overview) -> tuple[TeamUsage, ...]:
    """Returns the use of all namespaces that have workloads, by name."""
    teams: dict[str, dict[str, Share]] = defaultdict(dict)
    for key, share in seen.counts.shares.items():
        teams[key.partition("/")[0]][key] = share
    return tuple(_team(seen, namespace, shares) for namespace, shares in sorted(teams.items()))


def _team(seen: Overview, namespace: str, shares: dict[str, Share]) -> TeamUsage:
    waiting = {key: share for key, share in shares.items() if share.pending}
    known = (seen.state.workloads.get(key) for key in waiting)
    return TeamUsage(
        namespace=namespace,
        running=len(shares) - len(waiting),
        waiting=len(waiting),
        used=added(Amounts({resource: n}) for share in shares.values() for (_, resource), n in share.usage),
        demand=added(requested(one.workload) for one in known if one is not None),
        oldest_ms=min((share.queued_ms for share in waiting.values()), default=None),
    )
