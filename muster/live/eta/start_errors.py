"""The error of start estimates, measured when gangs start."""

from dataclasses import dataclass
from enum import StrEnum

from muster.cluster.cluster_state import ClusterState
from muster.cluster.queue_counts import queue_of
from muster.live.eta.start_range import StartRange
from muster.objects.kueue import Workload
from muster.objects.meta import find_condition, millis
from muster.objects.workload_status import PODS_READY


class Band(StrEnum):
    """The position of a start relative to the range from p10 to p90."""

    BEFORE = "before"
    WITHIN = "within"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class StartError:
    """The error of one estimate."""

    queue: str
    priority_class: str
    band: Band
    error_s: float | None  # start minus median; None if no median was within the horizon


class StartErrors:
    """Measures the error of each workload's first estimate; the last estimate comes just before the start."""

    def __init__(self) -> None:
        self._first: dict[str, StartRange] = {}  # by UID

    def estimated(self, uid: str, start: StartRange) -> None:
        """Records the estimate unless the workload already has one."""
        self._first.setdefault(uid, start)

    def started(self, cluster: ClusterState) -> list[StartError]:
        """Returns the errors of gangs that started since the last call; forgets deleted workloads."""
        errors, pending = [], {}
        for workload in cluster.workloads.values() if self._first else ():
            first = self._first.get(workload.metadata.uid)
            if first is None:
                continue
            at_ms = started_at_ms(workload)
            if at_ms is None:
                pending[workload.metadata.uid] = first
            else:
                errors.append(_error(workload, first, at_ms, cluster))
        self._first = pending
        return errors


def started_at_ms(workload: Workload) -> int | None:
    """Returns since when the pods are ready; None if they are not."""
    ready = find_condition(workload.status.conditions, PODS_READY)
    return millis(ready.last_transition_time) if ready is not None and ready.status == "True" else None


def _error(workload: Workload, first: StartRange, at_ms: int, cluster: ClusterState) -> StartError:
    reference = workload.spec.priority_class_ref
    if first.p10_ms is None or at_ms < first.p10_ms // 1000 * 1000:  # conditions have whole seconds
        band = Band.BEFORE
    elif first.p90_ms is None or at_ms <= first.p90_ms:
        band = Band.WITHIN
    else:
        band = Band.AFTER
    return StartError(
        queue=queue_of(workload, cluster),
        priority_class=reference.name if reference is not None else "",
        band=band,
        error_s=None if first.p50_ms is None else (at_ms - first.p50_ms) / 1000,
    )
