"""Usage by flavor and by team, which is a namespace."""

from collections import defaultdict
from dataclasses import dataclass
from typing import ClassVar

from muster.cluster.queue_counts import Contribution
from muster.live.overview.document import Amounts
from muster.live.overview.overview import Overview
from muster.live.overview.tree import added, requested


@dataclass(frozen=True, slots=True)
class FlavorTotal:
    """A resource of a flavor, summed over all ClusterQueues and Cohorts."""

    flavor: str
    resource: str
    nominal: int
    used: int
    workloads: int  # number of workloads that hold quota of it

    QUANTITIES: ClassVar = ("nominal", "used")


@dataclass(frozen=True, slots=True)
class TeamUsage:
    """The workloads of a namespace."""

    namespace: str
    running: int
    waiting: int
    used: Amounts
    demand: Amounts  # of the waiting workloads
    oldest_ms: int | None  # since when the first of them waits


def flavor_usage(overview: Overview) -> tuple[FlavorTotal, ...]:
    """Returns the usage of all flavors, ordered by flavor and resource."""
    sums: dict[tuple[str, str], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for node in overview.usage:
        for fr, of in node.columns.items() if node.parent is None else ():
            nominal, used = sums[fr]
            sums[fr] = nominal + of.total, used + of.used
    users: dict[tuple[str, str], int] = defaultdict(int)
    for share in overview.counts.shares.values():
        for column in {column for column, _ in share.usage}:
            users[column] += 1
    return tuple(
        FlavorTotal(*column, nominal, used, users[column]) for column, (nominal, used) in sorted(sums.items())
    )


def team_usage(overview: Overview) -> tuple[TeamUsage, ...]:
    """Returns the usage of all namespaces with workloads, ordered by name."""
    teams: dict[str, dict[str, Contribution]] = defaultdict(dict)
    for key, share in overview.counts.shares.items():
        teams[key.partition("/")[0]][key] = share
    return tuple(_team(overview, namespace, shares) for namespace, shares in sorted(teams.items()))


def _team(overview: Overview, namespace: str, shares: dict[str, Contribution]) -> TeamUsage:
    waiting = {key: share for key, share in shares.items() if share.pending}
    live = (overview.state.workloads.get(key) for key in waiting)
    return TeamUsage(
        namespace=namespace,
        running=len(shares) - len(waiting),
        waiting=len(waiting),
        used=added(Amounts({resource: n}) for share in shares.values() for (_, resource), n in share.usage),
        demand=added(requested(workload.workload) for workload in live if workload is not None),
        oldest_ms=min((share.queued_ms for share in waiting.values()), default=None),
    )
