"""Records each workload when it finishes, is deleted, or is deactivated."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime

import msgspec

from muster.admission import QuantityError, quantities
from muster.cluster.claims import device_requests
from muster.cluster.cluster_state import ClusterState
from muster.controller.journal.sizes import JobSizes
from muster.controller.metrics.observer import CompletedPass, Observer
from muster.forecast.estimate_outcome import EstimateOutcome
from muster.journal.record import (
    VERSION,
    EstimateRecord,
    Eviction,
    JournalRecord,
    PodSetRecord,
    WorkloadOutcome,
    write,
)
from muster.kube.kinds import WORKLOADS
from muster.kube.writes import MergePatch
from muster.live.workloads import first_ready_ms, since_ms
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import find_condition, millis
from muster.objects.pods import pod_requests
from muster.objects.workload_status import (
    ADMITTED,
    EVICTED,
    FINISHED,
    QUOTA_RESERVED,
    holds_quota,
)
from muster.translation.devices import DeviceRequests

SECOND_MS = 1000
EVICTIONS_MAX = 100  # per workload
RECENT_MS = 3_600_000
"""The time before its start for which a new leader records finished workloads again, as the former leader may
have ended before it recorded them."""


class Journal(Observer):
    """Observes passes; `put` receives each record as a line and must not block. `estimates` returns the
    estimates of a Workload's start, by its UID.

    Keeps the Workloads of the last pass, to detect deletions, and their evictions. A new leader does not know
    earlier evictions, or deletions while there was no leader."""

    def __init__(
        self,
        put: Callable[[bytes], None],
        failed: Callable[[], None],
        estimates: Callable[[str], Iterable[EstimateOutcome]] = lambda _uid: (),
    ) -> None:
        self._put, self._count_failure, self._estimates = put, failed, estimates
        self._last_workloads: dict[str, Workload] = {}
        self._is_first = True
        self._evictions: dict[str, list[Eviction]] = {}  # by UID
        self._finished: set[str] = set()  # UIDs of recorded workloads
        self._deactivated: set[str] = set()
        self._sizes = JobSizes()

    def failed(self) -> None:
        self._count_failure()

    def passed(self, passed: CompletedPass) -> None:
        cluster, now_ms = passed.cluster, passed.now_ms
        if self._is_first:
            for existing in cluster.workloads.values():
                self._record_finished(existing, existing.status, cluster, now_ms - RECENT_MS)
        for planned in passed.done:
            workload = cluster.workloads.get(planned.subject)
            if workload is None or not isinstance(planned.write, MergePatch) or not planned.write.status:
                continue
            status = msgspec.convert(planned.write.body["status"], WorkloadStatus)
            self._note_eviction(workload.metadata.uid, status)
            self._record_finished(workload, status, cluster)
        self._is_first = False
        for key in passed.plan.statistics.examined:
            now, before = cluster.workloads.get(key), self._last_workloads.pop(key, None)
            if now is not None:
                self._last_workloads[key] = now
                self._sizes.note(now, cluster, now_ms)
                # A Workload without a job is finished by its creator.
                self._record_finished(now, now.status, cluster)
                self._record_deactivated(now, cluster)
            elif before is not None:
                self._record_deleted(before, cluster, now_ms)

    def _note_eviction(self, uid: str, status: WorkloadStatus) -> None:
        """Adds the eviction in the status unless it is known already."""
        evicted = find_condition(status.conditions, EVICTED)
        if evicted is None or evicted.status != "True":
            return
        eviction = Eviction(at=_time(millis(evicted.last_transition_time)), reason=evicted.reason)
        evictions = self._evictions.setdefault(uid, [])
        if eviction not in evictions and len(evictions) < EVICTIONS_MAX:
            evictions.append(eviction)

    def _record_finished(
        self, workload: Workload, status: WorkloadStatus, cluster: ClusterState, since_ms: int = 0
    ) -> None:
        finished = find_condition(status.conditions, FINISHED)
        if finished is None or finished.status != "True" or workload.metadata.uid in self._finished:
            return
        at_ms = millis(finished.last_transition_time)
        self._finished.add(workload.metadata.uid)
        if at_ms >= since_ms:
            outcome = WorkloadOutcome.SUCCEEDED if finished.reason == "Succeeded" else WorkloadOutcome.FAILED
            self._record(workload, status, outcome, cluster, at_ms)

    def _record_deleted(self, workload: Workload, cluster: ClusterState, now_ms: int) -> None:
        uid = workload.metadata.uid
        if uid not in self._finished:
            self._record(workload, workload.status, WorkloadOutcome.DELETED, cluster, now_ms)
        self._evictions.pop(uid, None)
        self._sizes.forget(uid)
        self._finished.discard(uid)
        self._deactivated.discard(uid)

    def _record_deactivated(self, workload: Workload, cluster: ClusterState) -> None:
        """Records a deactivated Workload once it no longer holds quota."""
        uid = workload.metadata.uid
        if workload.spec.active:
            self._deactivated.discard(uid)
        elif not (uid in self._deactivated or uid in self._finished or holds_quota(workload.status)):
            self._deactivated.add(uid)
            evicted = find_condition(workload.status.conditions, EVICTED)
            at_ms = millis(evicted.last_transition_time) if evicted is not None else None
            self._record(workload, workload.status, WorkloadOutcome.DEACTIVATED, cluster, at_ms)

    def _record(
        self,
        workload: Workload,
        status: WorkloadStatus,
        outcome: WorkloadOutcome,
        cluster: ClusterState,
        finished_ms: int | None,
    ) -> None:
        queue = _queue(workload, status, cluster)
        devices = device_requests(workload, queue, cluster)
        pod_sets = tuple(_pod_sets(workload, status, devices))
        if not pod_sets:
            return
        owner, reference = workload.metadata.controller, workload.spec.priority_class_ref
        admitted_ms, ready_ms = since_ms(status, ADMITTED), first_ready_ms(status)
        record = JournalRecord(
            version=VERSION,
            uid=workload.metadata.uid,
            namespace=workload.metadata.namespace,
            name=owner.name if owner is not None else workload.metadata.name,
            kind=owner.kind if owner is not None else WORKLOADS.name,
            pod_sets=pod_sets,
            created_at=_time(millis(workload.metadata.creation_timestamp)),
            outcome=outcome,
            queue=queue,
            priority_class=reference.name if reference is not None else "",
            reserved_at=_provisioned_from(status),
            admitted_at=None if admitted_ms is None else _time(admitted_ms),
            started_at=None if admitted_ms is None or ready_ms is None else _time(max(admitted_ms, ready_ms)),
            finished_at=None if finished_ms is None else _time(finished_ms),
            limit_seconds=workload.spec.maximum_execution_time_seconds,
            evictions=tuple(self._evictions.get(workload.metadata.uid, ())),
            groups=tuple(self._sizes.groups(workload, _flavors(workload, status), devices)),
            estimates=tuple(map(_estimate, self._estimates(workload.metadata.uid))),
        )
        self._put(write(record))


def _queue(workload: Workload, status: WorkloadStatus, cluster: ClusterState) -> str:
    """Returns the ClusterQueue of the Workload's admission, else that of its LocalQueue, else the name of its
    queue."""
    admission = status.admission or workload.status.admission
    if admission is not None:
        return admission.cluster_queue
    local = cluster.local_queue_of(workload)
    return local.spec.cluster_queue if local is not None else workload.spec.queue_name


def _provisioned_from(status: WorkloadStatus) -> datetime | None:
    """Returns when its admission checks began; None without checks or without quota."""
    reserved_ms = since_ms(status, QUOTA_RESERVED) if status.admission_checks else None
    return None if reserved_ms is None else _time(reserved_ms)


def _estimate(outcome: EstimateOutcome) -> EstimateRecord:
    of = outcome.simulated
    times_ms = (of.age_ms, of.low_ms, of.median_ms, of.high_ms, outcome.wait_ms)
    waited, p10, p50, p90, actual = (time_ms / SECOND_MS for time_ms in times_ms)
    return EstimateRecord(waited=waited, p10=p10, p50=p50, p90=p90, actual=actual)


def _flavors(workload: Workload, status: WorkloadStatus) -> Mapping[str, Mapping[str, str]]:
    """Returns the flavors of the last admission, by pod set and resource."""
    admission = status.admission or workload.status.admission
    return {a.name: a.flavors for a in admission.pod_set_assignments} if admission is not None else {}


def _pod_sets(workload: Workload, status: WorkloadStatus, devices: DeviceRequests) -> Iterator[PodSetRecord]:
    flavors = _flavors(workload, status)
    for pod_set in workload.spec.pod_sets:
        if pod_set.count < 1:
            continue
        try:
            requests = devices.counted(pod_set.name, pod_requests(pod_set.template))
        except QuantityError:
            continue  # such a workload is never admitted
        texts = {resource: quantities.format(resource, units) for resource, units in requests.items()}
        yield PodSetRecord(
            name=pod_set.name,
            count=pod_set.count,
            requests=texts,
            flavors=dict(flavors.get(pod_set.name, {})),
            topology=pod_set.topology_request,
        )


def _time(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)
