"""How far estimates of starts were off, measured when the gangs start."""

from dataclasses import dataclass
from enum import StrEnum

from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.passes.queue_counts import queue_of
from muster.live.eta.start_range import StartRange
from muster.objects.kueue import Workload
from muster.objects.meta import find_condition, millis
from muster.objects.workload_status import PODS_READY


class Band(StrEnum):
    """Where a start was, compared with the range from p10 to p90."""

    BEFORE = "before"
    WITHIN = "within"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class StartError:
    """`error_s` is the start minus the median; None: there was no median within the horizon."""

    queue: str
    priority_class: str
    band: Band
    error_s: float | None


class StartErrors:
    """Keeps the first estimate of each workload: the last one is made just before the start."""

    def __init__(self) -> None:
        self._first: dict[str, StartRange] = {}  # by UID

    def estimated(self, uid: str, found: StartRange) -> None:
        self._first.setdefault(uid, found)

    def started(self, cluster: ClusterState) -> list[StartError]:
        """Returns the errors of the gangs that have started since the last call; forgets workloads that are
        gone."""
        errors, kept = [], {}
        for workload in cluster.workloads.values() if self._first else ():
            first = self._first.get(workload.metadata.uid)
            if first is None:
                continue
            at_ms = started_at_ms(workload)
            if at_ms is None:
                kept[workload.metadata.uid] = first
            else:
                errors.append(_error(workload, first, at_ms, cluster))
        self._first = kept
        return errors


def started_at_ms(workload: Workload) -> int | None:
    """Returns since when its pods are ready; None: they are not."""
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
