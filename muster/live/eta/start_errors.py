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
    age: str = ""  # of the estimate at the start
    is_first: bool = True  # the first estimate of the gang, else the latest


AGES = ((60_000, "up to 1m"), (600_000, "1m to 10m"), (3_600_000, "10m to 1h"), (6 * 3_600_000, "1h to 6h"))
OLDER = "more than 6h"


class StartErrors:
    """Measures the errors of each workload's first estimate, and of its latest if that differs."""

    def __init__(self) -> None:
        self._estimates: dict[str, tuple[StartRange, StartRange]] = {}  # the first and the latest, by UID

    def estimated(self, uid: str, start: StartRange) -> None:
        """Records an estimate."""
        first, _ = self._estimates.get(uid, (start, start))
        self._estimates[uid] = first, start

    def started(self, cluster: ClusterState) -> list[StartError]:
        """Returns the errors of gangs that started since the last call; forgets deleted workloads."""
        errors, pending = [], {}
        for workload in cluster.workloads.values() if self._estimates else ():
            estimates = self._estimates.get(workload.metadata.uid)
            if estimates is None:
                continue
            at_ms = started_at_ms(workload)
            if at_ms is None:
                pending[workload.metadata.uid] = estimates
                continue
            first, latest = estimates
            errors.append(_error(workload, first, at_ms, cluster, is_first=True))
            if latest is not first:
                errors.append(_error(workload, latest, at_ms, cluster, is_first=False))
        self._estimates = pending
        return errors


def started_at_ms(workload: Workload) -> int | None:
    """Returns since when the pods are ready; None if they are not."""
    ready = find_condition(workload.status.conditions, PODS_READY)
    return millis(ready.last_transition_time) if ready is not None and ready.status == "True" else None


def start_band(estimate: StartRange, at_ms: int) -> Band:
    """Returns the position of a start relative to the estimated range; conditions have whole seconds."""
    if estimate.p10_ms is None or at_ms < estimate.p10_ms // 1000 * 1000:
        return Band.BEFORE
    return Band.WITHIN if estimate.p90_ms is None or at_ms <= estimate.p90_ms else Band.AFTER


def _error(
    workload: Workload, estimate: StartRange, at_ms: int, cluster: ClusterState, *, is_first: bool
) -> StartError:
    reference = workload.spec.priority_class_ref
    return StartError(
        queue=queue_of(workload, cluster),
        priority_class=reference.name if reference is not None else "",
        band=start_band(estimate, at_ms),
        error_s=None if estimate.p50_ms is None else (at_ms - estimate.p50_ms) / 1000,
        age=next((name for age_ms, name in AGES if at_ms - estimate.at_ms <= age_ms), OLDER),
        is_first=is_first,
    )
