"""The sizes of autoscaled gangs over time, as this server has observed them since it started."""

from dataclasses import dataclass, field

from muster.cluster.cluster_state import ClusterState
from muster.live.overview.worker_groups import elastic_row
from muster.live.page.attempts import KEPT_MS

CHANGES_MAX = 200
"""Changes of a gang. When there are more, every second one is dropped."""


@dataclass(frozen=True, slots=True)
class GangSize:
    """The workers of a gang from a time on."""

    at_ms: int
    granted: int
    asked: int
    running: int | None  # None: unknown

    def is_same(self, other: "GangSize") -> bool:
        """Returns whether the numbers are equal."""
        return (self.granted, self.asked, self.running) == (other.granted, other.asked, other.running)


@dataclass(slots=True)
class RecentSizes:
    """The sizes of the gangs in the cluster within the last KEPT_MS, by UID of the Workload. Another thread
    may read them."""

    _sizes: dict[str, tuple[GangSize, ...]] = field(default_factory=dict)

    def update(self, cluster: ClusterState, now_ms: int) -> None:
        """Notes the sizes that have changed."""
        rows = ((workload, elastic_row(workload, cluster)) for workload in cluster.workloads.values())
        self._sizes = {
            workload.metadata.uid: _recent(
                self._sizes.get(workload.metadata.uid, ()),
                GangSize(now_ms, row.granted, row.asked, row.running),
            )
            for workload, row in rows
            if row is not None
        }

    def of(self, uid: str) -> tuple[GangSize, ...]:
        """Returns the sizes of a gang in order of time; empty for a gang of a fixed size."""
        return self._sizes.get(uid, ())


def _recent(sizes: tuple[GangSize, ...], now: GangSize) -> tuple[GangSize, ...]:
    """Returns the sizes with the present one, if it has changed."""
    if sizes and sizes[-1].is_same(now):
        return sizes
    # The last size before the time that is shown is the first one in it.
    old = sum(size.at_ms <= now.at_ms - KEPT_MS for size in sizes)
    sizes = (*sizes[max(0, old - 1) :], now)
    return sizes if len(sizes) <= CHANGES_MAX else (sizes[0], *sizes[2:-1:2], sizes[-1])
