"""Corrects future times in a status, written by a replica whose clock was ahead.

Otherwise back-offs and deadlines computed from them would end late by the same amount.
"""

from typing import TypeVar

from msgspec.structs import replace

from muster.objects import workload_status
from muster.objects.kueue import AdmissionCheckState, RequeueState, WorkloadStatus
from muster.objects.meta import Condition, find_condition, millis, rfc3339

T = TypeVar("T", Condition, AdmissionCheckState)

SKEW_MS_MAX = 10_000  # tolerated difference between the clocks of two replicas


def without_future_times(status: WorkloadStatus, now_ms: int) -> WorkloadStatus:
    """Sets future times of conditions and checks to `now_ms`, and shifts the end of the back-off so that its
    length stays the same. Tolerates SKEW_MS_MAX."""
    latest = rfc3339(now_ms + SKEW_MS_MAX)
    times = [condition.last_transition_time or "" for condition in status.conditions]
    times += [check.last_transition_time for check in status.admission_checks]
    if all(at <= latest for at in times):  # text comparison: the API's times are UTC in whole seconds
        return status

    def clamped(timed: T) -> T:
        is_future = (timed.last_transition_time or "") > latest
        return replace(timed, last_transition_time=rfc3339(now_ms)) if is_future else timed

    return replace(
        status,
        conditions=tuple(map(clamped, status.conditions)),
        admission_checks=tuple(map(clamped, status.admission_checks)),
        requeue_state=_shifted_backoff(status, latest, now_ms),
    )


def _shifted_backoff(status: WorkloadStatus, latest: str, now_ms: int) -> RequeueState | None:
    """Moves the end of the back-off by the error of the eviction's time, as the same replica wrote both."""
    state, evicted = status.requeue_state, find_condition(status.conditions, workload_status.EVICTED)
    if state is None or not state.requeue_at or evicted is None:
        return state
    if (evicted.last_transition_time or "") <= latest:
        return state
    ahead_ms = millis(evicted.last_transition_time) - now_ms
    return replace(state, requeue_at=rfc3339(millis(state.requeue_at) - ahead_ms))
