"""The life of a Workload as pure steps from status to status, in Kueue's conditions and words.

Source: Kueue pkg/workload/workload.go, pkg/workload/admissionchecks.go, apis workload_types.go.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from muster.admission import Admission as CoreAdmission
from muster.admission import quantities
from muster.controller.jobs.job import Outcome
from muster.objects import kueue
from muster.objects.gangs import EVICTED as EVICTED
from muster.objects.gangs import PREEMPTED as PREEMPTED
from muster.objects.gangs import QUOTA_RESERVED as QUOTA_RESERVED
from muster.objects.gangs import holds_quota as holds_quota
from muster.objects.kueue import AdmissionCheckState, WorkloadStatus
from muster.objects.meta import Condition, find_condition, is_true, rfc3339, set_condition

ADMITTED, REQUEUED, PODS_READY, FINISHED = "Admitted", "Requeued", "PodsReady", "Finished"
PENDING, READY, RETRY, REJECTED = "Pending", "Ready", "Retry", "Rejected"


def is_admitted(status: WorkloadStatus) -> bool:
    return is_true(status.conditions, ADMITTED)


def is_evicted(status: WorkloadStatus) -> bool:
    return is_true(status.conditions, EVICTED)


def is_finished(status: WorkloadStatus) -> bool:
    return is_true(status.conditions, FINISHED)


def reserve(
    status: WorkloadStatus, admission: CoreAdmission, checks: Iterable[str], now_ms: int
) -> WorkloadStatus:
    """Quota for the whole gang; admitted at once where no check is asked."""
    message = f"Quota reserved in ClusterQueue {admission.cluster_queue}"
    conditions = _set(status, QUOTA_RESERVED, True, QUOTA_RESERVED, message, now_ms)
    for kind in (EVICTED, PREEMPTED):
        before = find_condition(conditions, kind)
        if before is not None and before.status == "True":
            text = f"Previously: {before.message}"
            conditions = set_condition(
                conditions, kind, status=False, reason=QUOTA_RESERVED, message=text, now_ms=now_ms
            )
    known = {c.name: c for c in status.admission_checks}
    now = rfc3339(now_ms)
    fresh = (
        known.get(n) or AdmissionCheckState(name=n, state=PENDING, last_transition_time=now, message="")
        for n in checks
    )
    return sync_admitted(
        replace(
            status,
            conditions=conditions,
            admission=_api_admission(admission),
            admission_checks=tuple(fresh),
            requeue_state=_without_time(status.requeue_state),
        ),
        now_ms,
    )


def sync_admitted(status: WorkloadStatus, now_ms: int) -> WorkloadStatus:
    """Admitted is quota reserved and every check ready."""
    if is_admitted(status) or not holds_quota(status):
        return status
    if any(c.state != READY for c in status.admission_checks):
        return status
    return _with(status, ADMITTED, True, "Admitted", "The workload is admitted", now_ms)


def wait(status: WorkloadStatus, reason: str, message: str, now_ms: int) -> WorkloadStatus:
    """No quota yet, and why."""
    return _with(status, QUOTA_RESERVED, False, reason, message, now_ms)


def evict(status: WorkloadStatus, reason: str, message: str, now_ms: int) -> WorkloadStatus:
    """Asked to leave; its quota stays its own until its pods are gone."""
    return _with(status, EVICTED, True, reason, message, now_ms)


def preempt(status: WorkloadStatus, reason: str, message: str, now_ms: int) -> WorkloadStatus:
    return _with(evict(status, PREEMPTED, message, now_ms), PREEMPTED, True, reason, message, now_ms)


def release(status: WorkloadStatus, now_ms: int) -> WorkloadStatus:
    """Stopped and gone: the quota is given back and the workload stands in the queue again."""
    evicted = find_condition(status.conditions, EVICTED)
    message = evicted.message if evicted is not None else "The quota was given back"
    status = _with(status, QUOTA_RESERVED, False, PENDING, message, now_ms)
    if find_condition(status.conditions, ADMITTED) is not None:
        text = "The workload has no reservation"
        status = _with(status, ADMITTED, False, "NoReservation", text, now_ms)
    if find_condition(status.conditions, PODS_READY) is not None:
        status = _with(status, PODS_READY, False, PENDING, "The pods are gone", now_ms)
    reason = evicted.reason if evicted is not None else PENDING
    status = _with(status, REQUEUED, True, reason, "The workload is back in its queue", now_ms)
    return replace(status, admission=None, admission_checks=tuple(map(_reset, status.admission_checks)))


def finish(status: WorkloadStatus, outcome: Outcome, now_ms: int) -> WorkloadStatus:
    reason = "Succeeded" if outcome.succeeded else "Failed"
    return _with(status, FINISHED, True, reason, outcome.message, now_ms)


def pods_ready(status: WorkloadStatus, ready: bool, now_ms: int) -> WorkloadStatus:
    if not ready and find_condition(status.conditions, PODS_READY) is None:
        return status
    reason, message = ("Started", "All pods are ready") if ready else (PENDING, "Not all pods are ready")
    return _with(status, PODS_READY, ready, reason, message, now_ms)


def set_check(status: WorkloadStatus, name: str, now_ms: int, **changes: object) -> WorkloadStatus:
    """One check's state with these fields changed; its time moves when its state does."""

    def change(check: AdmissionCheckState) -> AdmissionCheckState:
        if check.name != name:
            return check
        new = replace(check, **changes)
        return new if new.state == check.state else replace(new, last_transition_time=rfc3339(now_ms))

    return replace(status, admission_checks=tuple(map(change, status.admission_checks)))


def retry_later(status: WorkloadStatus, now_ms: int) -> WorkloadStatus:
    """A check asks for another try: out of the queue until the longest back-off is over."""
    retries = [c for c in status.admission_checks if c.state == RETRY]
    wait_s = max((c.requeue_after_seconds or 0 for c in retries), default=0)
    count = max((c.retry_count for c in retries), default=0)
    at_ms = now_ms + wait_s * 1000 + 999  # the API's times are whole seconds: rather later than too soon
    return replace(status, requeue_state=kueue.RequeueState(count=count, requeue_at=rfc3339(at_ms)))


def _with(
    status: WorkloadStatus, kind: str, value: bool, reason: str, message: str, now_ms: int
) -> WorkloadStatus:
    return replace(status, conditions=_set(status, kind, value, reason, message, now_ms))


def _set(
    status: WorkloadStatus, kind: str, value: bool, reason: str, message: str, now_ms: int
) -> tuple[Condition, ...]:
    return set_condition(status.conditions, kind, status=value, reason=reason, message=message, now_ms=now_ms)


def _reset(check: AdmissionCheckState) -> AdmissionCheckState:
    """Pending again for the next try; the number of tries is remembered."""
    message = f"Reset to Pending after eviction. Previously: {check.state}"
    return replace(check, state=PENDING, message=message, pod_set_updates=(), requeue_after_seconds=None)


def _without_time(state: kueue.RequeueState | None) -> kueue.RequeueState | None:
    return replace(state, requeue_at=None) if state is not None else None


def _api_admission(admission: CoreAdmission) -> kueue.Admission:
    return kueue.Admission(
        cluster_queue=admission.cluster_queue,
        pod_set_assignments=tuple(
            kueue.PodSetAssignment(
                name=a.name,
                count=a.count,
                flavors=dict(a.flavors),
                resource_usage={r: quantities.format(r, n) for r, n in a.usage.items()},
            )
            for a in admission.pod_sets
        ),
    )
