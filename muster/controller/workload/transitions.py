"""The transitions of a Workload: pure functions on its status, with Kueue's conditions and messages.

Source: Kueue pkg/workload/workload.go, pkg/workload/admissionchecks.go, apis workload_types.go.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from muster.admission import Admission as CoreAdmission
from muster.admission import CheckState
from muster.admission.lifecycle import (
    READY_REASONS,
    TIME_EXCEEDED,
    CheckStatus,
    Readiness,
    reset_check,
    used_execution_s,
)
from muster.cluster.jobs.job import JobOutcome
from muster.cluster.phases import PassStage, Phase, transition
from muster.objects import kueue
from muster.objects.kueue import AdmissionCheckState, ReclaimablePod, WorkloadStatus
from muster.objects.kueue_checks import PENDING, READY
from muster.objects.meta import Condition, find_condition, is_true, millis, rfc3339, set_condition
from muster.objects.workload_status import (
    ADMITTED,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    GROWTH_LIMITED,
    PODS_READY,
    PREEMPTED,
    QUOTA_RESERVED,
    REQUEUED,
    SHRINKING,
    SUSPENSION_BLOCKED,
    admitted_at_ms,
    holds_quota,
    is_admitted,
    is_evicted,
    is_finished,
    is_unplaced,
)
from muster.objects.workload_status import PENDING as UNRESERVED
from muster.translation import assignments

SCALED_DOWN = "ScaledDown"
"""The reason of Shrinking if the job asks for fewer pods."""


@transition({Phase.PENDING, Phase.QUOTA_RESERVED}, {Phase.QUOTA_RESERVED, Phase.ADMITTED}, PassStage.DECIDE)
def reserve(
    status: WorkloadStatus,
    admission: CoreAdmission,
    check_names: Iterable[str],
    now_ms: int,
    note: str = "",
) -> WorkloadStatus:
    """Reserves quota for the whole gang, and admits it if there are no checks to wait for. `note` is appended
    to the message."""
    message = f"Quota reserved in ClusterQueue {admission.cluster_queue}{note}"
    conditions = _set(status, QUOTA_RESERVED, True, QUOTA_RESERVED, message, now_ms)
    for kind in (EVICTED, PREEMPTED):
        before = find_condition(conditions, kind)
        if before is not None and before.status == "True":
            text = f"Previously: {before.message}"
            conditions = set_condition(
                conditions, kind, status=False, reason=QUOTA_RESERVED, message=text, now_ms=now_ms
            )
    states = {c.name: c for c in status.admission_checks}
    now = rfc3339(now_ms)
    checks = (
        states.get(n) or AdmissionCheckState(name=n, state=PENDING, last_transition_time=now, message="")
        for n in check_names
    )
    return sync_admitted(
        replace(
            status,
            conditions=conditions,
            admission=assignments.api_admission(admission),
            unhealthy_nodes=(),  # the new admission does not use them
            admission_checks=tuple(checks),
            requeue_state=_without_time(status.requeue_state),
        ),
        now_ms,
    )


@transition({Phase.QUOTA_RESERVED}, {Phase.ADMITTED}, PassStage.ADVANCE)
def sync_admitted(status: WorkloadStatus, now_ms: int) -> WorkloadStatus:
    """Sets Admitted if quota is reserved, all checks are ready, and all pod sets are placed."""
    if is_admitted(status) or not holds_quota(status) or is_unplaced(status):
        return status
    if any(c.state != READY for c in status.admission_checks):
        return status
    return _with(status, ADMITTED, True, "Admitted", "The workload is admitted", now_ms)


def wait(status: WorkloadStatus, reason: str, message: str, now_ms: int) -> WorkloadStatus:
    """Sets QuotaReserved to false with the reason why the workload waits."""
    return _with(status, QUOTA_RESERVED, False, reason, message, now_ms)


@transition({Phase.QUOTA_RESERVED, Phase.ADMITTED}, {Phase.EVICTED}, PassStage.ADVANCE, PassStage.DECIDE)
def evict(status: WorkloadStatus, reason: str, message: str, now_ms: int) -> WorkloadStatus:
    """Evicts the workload; it keeps its quota until its pods are deleted. Resets its checks."""
    status = _with(status, EVICTED, True, reason, message, now_ms)
    return replace(status, admission_checks=tuple(_reset(c, now_ms) for c in status.admission_checks))


@transition({Phase.QUOTA_RESERVED, Phase.ADMITTED}, {Phase.EVICTED}, PassStage.DECIDE)
def preempt(status: WorkloadStatus, reason: str, message: str, now_ms: int) -> WorkloadStatus:
    """Evicts the workload in favor of another that needs its quota."""
    return _with(evict(status, PREEMPTED, message, now_ms), PREEMPTED, True, reason, message, now_ms)


def resize(status: WorkloadStatus, admission: CoreAdmission) -> WorkloadStatus:
    """Changes the numbers of pods for which the gang holds quota."""
    return replace(status, admission=assignments.api_admission(admission))


def shrinking(status: WorkloadStatus, reason: str, message: str, now_ms: int) -> WorkloadStatus:
    """Sets Shrinking: more pods run than hold quota. The notice starts with the first preemption, so the time
    of an earlier scale-down by the job itself is dropped."""
    before = find_condition(status.conditions, SHRINKING)
    if before is not None and before.reason == SCALED_DOWN != reason:
        status = _without(status, SHRINKING)
    return _with(status, SHRINKING, True, reason, message, now_ms)


def growth_limited(status: WorkloadStatus, reason: str, message: str, now_ms: int) -> WorkloadStatus:
    """Sets GrowthLimited: a worker group has no quota for another replica."""
    return _with(status, GROWTH_LIMITED, True, reason, message, now_ms)


def growth_unlimited(status: WorkloadStatus, now_ms: int) -> WorkloadStatus:
    """Sets GrowthLimited to False, if it was True."""
    if not is_true(status.conditions, GROWTH_LIMITED):
        return status
    return _with(status, GROWTH_LIMITED, False, "QuotaAvailable", "The worker groups may grow", now_ms)


def without_limits(status: WorkloadStatus) -> WorkloadStatus:
    """Returns the status without GrowthLimited, on which no decision depends."""
    return _without(status, GROWTH_LIMITED)


def shrunk(status: WorkloadStatus, now_ms: int) -> WorkloadStatus:
    """Sets Shrinking to False after the pods have ended."""
    return _with(status, SHRINKING, False, "Shrunk", "The pods beyond those with quota have ended", now_ms)


@transition({Phase.EVICTED}, {Phase.PENDING, Phase.BACK_OFF}, PassStage.ADVANCE)
def release(status: WorkloadStatus, now_ms: int) -> WorkloadStatus:
    """Releases the quota of a stopped gang, or of a Workload without a job whose creator has unset its
    reservation. Preempted workloads are requeued immediately, others once the cause of their eviction has
    ended."""
    evicted = find_condition(status.conditions, EVICTED) if is_evicted(status) else None
    message = evicted.message if evicted is not None else "The quota was released"
    status = _without(status, GROWTH_LIMITED, SHRINKING)
    status = replace(status, accumulated_past_execution_time_seconds=_used_s(status, evicted, now_ms))
    status = _with(status, QUOTA_RESERVED, False, UNRESERVED, message, now_ms)
    if find_condition(status.conditions, ADMITTED) is not None:
        text = "The workload has no reservation"
        status = _with(status, ADMITTED, False, "NoReservation", text, now_ms)
    if find_condition(status.conditions, PODS_READY) is not None:
        status = pods_ready(status, Readiness.WAIT_FOR_START, now_ms)
    reason = evicted.reason if evicted is not None else PREEMPTED
    return replace(_with(status, REQUEUED, reason == PREEMPTED, reason, message, now_ms), admission=None)


def _used_s(status: WorkloadStatus, evicted: Condition | None, now_ms: int) -> int | None:
    """Returns the used part of the maximum execution time. A workload that used all of it starts from zero
    when it is reactivated. (Kueue intends the same, but still counts the last admission.)"""
    past_s, admitted_ms = status.accumulated_past_execution_time_seconds, admitted_at_ms(status)
    if evicted is not None and evicted.reason.endswith(TIME_EXCEEDED):
        return None
    return past_s if admitted_ms is None else used_execution_s(past_s or 0, admitted_ms, now_ms)


@transition(set(Phase) - {Phase.FINISHED}, {Phase.FINISHED}, PassStage.ADVANCE)
def finish(status: WorkloadStatus, outcome: JobOutcome, now_ms: int) -> WorkloadStatus:
    """Finishes the workload with the outcome of its job."""
    reason = "Succeeded" if outcome.succeeded else "Failed"
    status = _without(status, GROWTH_LIMITED, SHRINKING)
    return _with(status, FINISHED, True, reason, outcome.message, now_ms)


POD_SENTENCES = {
    Readiness.WAIT_FOR_START: "Not all pods are ready or succeeded",
    Readiness.WAIT_FOR_RECOVERY: "At least one pod has failed, waiting for recovery",
    Readiness.STARTED: "All pods reached readiness and the workload is running",
    Readiness.RECOVERED: "All pods reached readiness and the workload is running",
}


def reclaim(status: WorkloadStatus, pods: tuple[ReclaimablePod, ...]) -> WorkloadStatus:
    """Releases the quota of pods that have ended and are not replaced. A finished Workload keeps its last
    counts."""
    if is_finished(status) or pods == status.reclaimable_pods:
        return status
    return replace(status, reclaimable_pods=pods)


def pods_ready(status: WorkloadStatus, pods: Readiness, now_ms: int) -> WorkloadStatus:
    """Sets PodsReady from the readiness of the gang's pods."""
    return _with(status, PODS_READY, pods in READY_REASONS, pods, POD_SENTENCES[pods], now_ms)


def deactivate(status: WorkloadStatus, reason: str, message: str, now_ms: int) -> WorkloadStatus:
    """Sets DeactivationTarget: the workload will be deactivated, and so evicted, for this reason."""
    return _with(status, DEACTIVATION_TARGET, True, reason, message, now_ms)


def without_deactivation_target(status: WorkloadStatus) -> WorkloadStatus:
    """Removes DeactivationTarget and the requeue state of an inactive workload, which is not requeued
    automatically."""
    return replace(_without(status, DEACTIVATION_TARGET), requeue_state=None)


def suspension_blocked(status: WorkloadStatus, reason: str, message: str, now_ms: int) -> WorkloadStatus:
    """Sets SuspensionBlocked with the reason why the gang cannot be stopped."""
    return _with(status, SUSPENSION_BLOCKED, True, reason, message, now_ms)


def suspension_done(status: WorkloadStatus, now_ms: int) -> WorkloadStatus:
    """Sets SuspensionBlocked to False after the gang has stopped."""
    return _with(status, SUSPENSION_BLOCKED, False, "Stopped", "The gang is stopped", now_ms)


def requeue_at(status: WorkloadStatus, at_ms: int | None, *, counts: bool) -> WorkloadStatus:
    """Keeps the workload out of the queue until `at_ms`, rounded up to whole seconds, or until the end of its
    current back-off if that is later. `counts`: the requeue counts towards the limit of requeues."""
    before = status.requeue_state or kueue.RequeueState()
    if at_ms is None:
        return status
    until_ms = max(at_ms + 999, millis(before.requeue_at))
    count = before.count + 1 if counts else before.count
    return replace(status, requeue_state=kueue.RequeueState(count=count, requeue_at=rfc3339(until_ms)))


@transition({Phase.BACK_OFF}, {Phase.PENDING}, PassStage.ADVANCE)
def requeued(status: WorkloadStatus, reason: str, message: str, now_ms: int) -> WorkloadStatus:
    """Returns the workload to its queue."""
    status = _with(status, REQUEUED, True, reason, message, now_ms)
    return replace(status, requeue_state=_without_time(status.requeue_state))


def _with(
    status: WorkloadStatus, kind: str, value: bool, reason: str, message: str, now_ms: int
) -> WorkloadStatus:
    return replace(status, conditions=_set(status, kind, value, reason, message, now_ms))


def _without(status: WorkloadStatus, *kinds: str) -> WorkloadStatus:
    conditions = tuple(c for c in status.conditions if c.type not in kinds)
    return status if len(conditions) == len(status.conditions) else replace(status, conditions=conditions)


def _set(
    status: WorkloadStatus, kind: str, value: bool, reason: str, message: str, now_ms: int
) -> tuple[Condition, ...]:
    return set_condition(status.conditions, kind, status=value, reason=reason, message=message, now_ms=now_ms)


def _without_time(state: kueue.RequeueState | None) -> kueue.RequeueState | None:
    return replace(state, requeue_at=None) if state is not None else None


def core_check(check: AdmissionCheckState) -> CheckStatus:
    """Converts the check for the core. The API's times are in whole seconds, so `changed_at_ms` is rounded
    up."""
    return CheckStatus(
        name=check.name,
        state=CheckState(check.state),
        message=check.message,
        changed_at_ms=millis(check.last_transition_time) + 999,
        retries=check.retry_count,
        wait_s=check.requeue_after_seconds,
    )


def _reset(check: AdmissionCheckState, now_ms: int) -> AdmissionCheckState:
    """Resets the check on an eviction."""
    new = reset_check(core_check(check), now_ms)
    if new.state == check.state:
        return check
    return replace(
        check,
        state=new.state,
        message=new.message,
        last_transition_time=rfc3339(now_ms),
        pod_set_updates=(),
        retry_count=new.retries,
    )
