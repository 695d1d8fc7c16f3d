"""Records each workload once it is over: it finished, was deleted, or was deactivated."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import msgspec

from muster.admission import QuantityError, quantities
from muster.admission.lifecycle import Readiness
from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.metrics.observer import CompletedPass, Observer
from muster.journal.record import VERSION, Eviction, JournalRecord, Outcome, PodSetRecord, write
from muster.kube.kinds import WORKLOADS
from muster.kube.writes import MergePatch
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import find_condition, millis
from muster.objects.pods import pod_requests
from muster.objects.workload_status import (
    ADMITTED,
    EVICTED,
    FINISHED,
    PODS_READY,
    holds_quota,
)

EVICTIONS_MAX = 100  # kept of one workload
RECENT_MS = 3_600_000
"""How far back a new leader records again what finished: the last one may have ended before it could."""


class Journal(Observer):
    """Observes passes; `put` takes each record as a line, and must not wait.

    It keeps the Workloads of the last pass, to notice deletions, and their evictions: a new leader does not
    know of earlier evictions, and of deletions while there was no leader."""

    def __init__(self, put: Callable[[bytes], None], failed: Callable[[], None]) -> None:
        self._put, self._count_failure = put, failed
        self._known: dict[str, Workload] = {}
        self._is_first = True
        self._evictions: dict[str, list[Eviction]] = {}  # by UID
        self._finished: set[str] = set()  # UIDs of those that were recorded
        self._deactivated: set[str] = set()

    def failed(self) -> None:
        self._count_failure()

    def passed(self, passed: CompletedPass) -> None:
        cluster, now_ms = passed.cluster, passed.now_ms
        if self._is_first:
            for workload in cluster.workloads.values():
                self._record_finished(workload, workload.status, cluster, now_ms - RECENT_MS)
        for planned in passed.done:
            found = cluster.workloads.get(planned.subject)
            if found is None or not isinstance(planned.write, MergePatch) or not planned.write.status:
                continue
            status = msgspec.convert(planned.write.body["status"], WorkloadStatus)
            self._note_eviction(found.metadata.uid, status)
            self._record_finished(found, status, cluster)
        self._is_first = False
        for key in passed.plan.examined:
            now, before = cluster.workloads.get(key), self._known.pop(key, None)
            if now is not None:
                self._known[key] = now
                self._record_finished(now, now.status, cluster)  # without a job, its creator finishes it
                self._record_deactivated(now, cluster)
            elif before is not None:
                self._record_deleted(before, cluster, now_ms)

    def _note_eviction(self, uid: str, status: WorkloadStatus) -> None:
        """Keeps an eviction, once."""
        found = find_condition(status.conditions, EVICTED)
        if found is None or found.status != "True":
            return
        eviction = Eviction(at=_time(millis(found.last_transition_time)), reason=found.reason)
        noted = self._evictions.setdefault(uid, [])
        if eviction not in noted and len(noted) < EVICTIONS_MAX:
            noted.append(eviction)

    def _record_finished(
        self, workload: Workload, status: WorkloadStatus, cluster: ClusterState, since_ms: int = 0
    ) -> None:
        finished = find_condition(status.conditions, FINISHED)
        if finished is None or finished.status != "True" or workload.metadata.uid in self._finished:
            return
        at_ms = millis(finished.last_transition_time)
        self._finished.add(workload.metadata.uid)
        if at_ms >= since_ms:
            outcome = Outcome.SUCCEEDED if finished.reason == "Succeeded" else Outcome.FAILED
            self._record(workload, status, outcome, cluster, at_ms)

    def _record_deleted(self, workload: Workload, cluster: ClusterState, now_ms: int) -> None:
        uid = workload.metadata.uid
        if uid not in self._finished:
            self._record(workload, workload.status, Outcome.DELETED, cluster, now_ms)
        self._evictions.pop(uid, None)
        self._finished.discard(uid)
        self._deactivated.discard(uid)

    def _record_deactivated(self, workload: Workload, cluster: ClusterState) -> None:
        """Records a Workload that was deactivated and holds no quota any more."""
        uid = workload.metadata.uid
        if workload.spec.active:
            self._deactivated.discard(uid)
        elif not (uid in self._deactivated or uid in self._finished or holds_quota(workload.status)):
            self._deactivated.add(uid)
            evicted = find_condition(workload.status.conditions, EVICTED)
            at_ms = millis(evicted.last_transition_time) if evicted is not None else None
            self._record(workload, workload.status, Outcome.DEACTIVATED, cluster, at_ms)

    def _record(
        self,
        workload: Workload,
        status: WorkloadStatus,
        outcome: Outcome,
        cluster: ClusterState,
        finished_ms: int | None,
    ) -> None:
        pod_sets = tuple(_pod_sets(workload))
        if not pod_sets:
            return
        owner, reference = workload.metadata.controller, workload.spec.priority_class_ref
        admitted_ms, ready_ms = _since_ms(status, ADMITTED), _first_ready_ms(status)
        record = JournalRecord(
            version=VERSION,
            uid=workload.metadata.uid,
            namespace=workload.metadata.namespace,
            name=owner.name if owner is not None else workload.metadata.name,
            kind=owner.kind if owner is not None else WORKLOADS.name,
            pod_sets=pod_sets,
            created_at=_time(millis(workload.metadata.creation_timestamp)),
            outcome=outcome,
            queue=_queue(workload, status, cluster),
            priority_class=reference.name if reference is not None else "",
            admitted_at=None if admitted_ms is None else _time(admitted_ms),
            started_at=None if admitted_ms is None or ready_ms is None else _time(max(admitted_ms, ready_ms)),
            finished_at=None if finished_ms is None else _time(finished_ms),
            evictions=tuple(self._evictions.get(workload.metadata.uid, ())),
        )
        self._put(write(record))


def _queue(workload: Workload, status: WorkloadStatus, cluster: ClusterState) -> str:
    """Returns its ClusterQueue: of its admission, else of its LocalQueue."""
    held = status.admission or workload.status.admission
    if held is not None:
        return held.cluster_queue
    local = cluster.local_queue_of(workload)
    return local.spec.cluster_queue if local is not None else workload.spec.queue_name


def _pod_sets(workload: Workload) -> Iterator[PodSetRecord]:
    for pod_set in workload.spec.pod_sets:
        if pod_set.count < 1:
            continue
        try:
            requests = pod_requests(pod_set.template)
        except QuantityError:
            continue  # such a workload is never admitted
        texts = {resource: quantities.format(resource, units) for resource, units in requests.items()}
        yield PodSetRecord(name=pod_set.name, count=pod_set.count, requests=texts)


def _first_ready_ms(status: WorkloadStatus) -> int | None:
    """Returns since when its pods run; None also if one was lost since then, and replaced."""
    ready = find_condition(status.conditions, PODS_READY)
    recovered = ready is not None and ready.reason == Readiness.RECOVERED
    return None if recovered else _since_ms(status, PODS_READY)


def _since_ms(status: WorkloadStatus, kind: str) -> int | None:
    found = find_condition(status.conditions, kind)
    return millis(found.last_transition_time) if found is not None and found.status == "True" else None


def _time(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)
