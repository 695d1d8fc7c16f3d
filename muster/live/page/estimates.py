"""The share of starts within their estimated ranges.

A start is compared with the annotation of its job, which remains after the start: the last estimate that the
controller wrote before it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median_low

from muster.cluster.cluster_state import ClusterState
from muster.cluster.queue_counts import queue_of
from muster.live.eta.start_errors import Band, start_band
from muster.live.eta.start_range import announced
from muster.live.workloads import first_ready_ms
from muster.objects.kueue import Workload
from muster.objects.meta import millis

STARTS_MAX = 5_000
ALL_QUEUES = "all"  # the id of the sum; ids of ClusterQueues are queue/NAME


@dataclass(frozen=True, slots=True)
class EstimatedStart:
    """A start that had an estimate."""

    queue: str
    started_ms: int
    age_ms: int  # of the estimate at the start
    band: Band


@dataclass(slots=True)
class EstimateCoverage:
    """The newest starts with an estimate, limited to `most`; they outlive their Workloads and jobs."""

    most: int = STARTS_MAX
    _starts: dict[str, EstimatedStart] = field(default_factory=dict)  # by Workload UID and time of estimate
    _decided: dict[str, Workload] = field(default_factory=dict)  # by key: pending, or its start is counted

    def update(self, cluster: ClusterState) -> Mapping[str, dict[str, object]]:
        """Adds the starts of workloads; returns the rows of all queues and of each queue with starts, by
        id. A start without an estimate is tried again, as its job may be listed later."""
        decided = {}
        for key, workload in cluster.workloads.items():
            if self._decided.get(key) is workload or self._is_decided(workload, cluster):
                decided[key] = workload
        self._decided = decided
        newest = sorted(self._starts, key=lambda key: self._starts[key].started_ms)[-self.most :]
        self._starts = {key: self._starts[key] for key in newest}
        return dict(_rows(self._starts.values()))

    def _is_decided(self, workload: Workload, cluster: ClusterState) -> bool:
        started_ms = first_ready_ms(workload.status)
        if started_ms is None:
            return True
        estimate, created_ms = announced(workload, cluster), millis(workload.metadata.creation_timestamp)
        # The annotation may be that of the job's previous Workload, or edited by a user.
        if estimate is None or not created_ms <= estimate.at_ms <= started_ms:
            return False
        # A gang that restarts before its next estimate still has the annotation of its previous start.
        self._starts.setdefault(
            f"{workload.metadata.uid}/{estimate.at_ms}",
            EstimatedStart(
                queue_of(workload, cluster),
                started_ms,
                started_ms - estimate.at_ms,
                start_band(estimate, started_ms),
            ),
        )
        return True


def _rows(starts: Iterable[EstimatedStart]) -> Iterator[tuple[str, dict[str, object]]]:
    by_queue: dict[str, list[EstimatedStart]] = {}
    for start in starts:
        by_queue.setdefault(start.queue, []).append(start)
    if by_queue:
        yield ALL_QUEUES, _row("", [start for of_queue in by_queue.values() for start in of_queue])
    for queue, of_queue in sorted(by_queue.items()):
        yield f"queue/{queue}", _row(queue, of_queue)


def _row(queue: str, starts: list[EstimatedStart]) -> dict[str, object]:
    bands = Counter(start.band for start in starts)
    return {
        "queue": queue,
        "starts": len(starts),
        **{band.value: bands[band] for band in Band},
        "ageMs": median_low(start.age_ms for start in starts),
    }
