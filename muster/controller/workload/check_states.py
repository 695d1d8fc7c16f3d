"""Converts the states of a Workload's admission checks between the API and the core."""

from msgspec.structs import replace

from muster.admission import CheckState
from muster.admission.lifecycle import CheckStatus, reset_check
from muster.objects.kueue import AdmissionCheckState, WorkloadStatus
from muster.objects.meta import millis, rfc3339

PENDING, READY, RETRY, REJECTED = "Pending", "Ready", "Retry", "Rejected"


def set_check(status: WorkloadStatus, name: str, now_ms: int, **changes: object) -> WorkloadStatus:
    """Returns the status with `changes` applied to one check; updates the transition time if the state
    changes."""

    def change(check: AdmissionCheckState) -> AdmissionCheckState:
        if check.name != name:
            return check
        new = replace(check, **changes)
        return new if new.state == check.state else replace(new, last_transition_time=rfc3339(now_ms))

    return replace(status, admission_checks=tuple(map(change, status.admission_checks)))


def core_state(check: AdmissionCheckState) -> CheckStatus:
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


def reset(check: AdmissionCheckState, now_ms: int) -> AdmissionCheckState:
    """Resets the check on an eviction."""
    new = reset_check(core_state(check), now_ms)
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
