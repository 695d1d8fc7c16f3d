"""Times written by a clock that ran ahead are corrected."""

import pytest

from muster.controller.workload import transitions
from muster.controller.workload.facts import SKEW_MS_MAX, without_future_times
from muster.objects import workload_status
from muster.objects.kueue import AdmissionCheckState, RequeueState, WorkloadStatus
from muster.objects.kueue_checks import RETRY
from muster.objects.meta import find_condition, millis, rfc3339

NOW_MS = 1_800_000_000_000
HOUR_MS = 3_600_000


def evicted(at_ms: int) -> WorkloadStatus:
    """Returns a status evicted at this time by a check, with a back-off of one minute."""
    state = AdmissionCheckState("check", RETRY, "", last_transition_time=rfc3339(at_ms))
    status = transitions.evict(WorkloadStatus(), "AdmissionCheck", "no stock", at_ms)
    status = transitions.requeue_at(status, at_ms + 60_000 - 999, counts=False)
    return WorkloadStatus(
        conditions=status.conditions, admission_checks=(state,), requeue_state=status.requeue_state
    )


def test_future_times_become_now_and_back_offs_keep_their_length() -> None:
    status = without_future_times(evicted(NOW_MS + HOUR_MS), NOW_MS)
    assert status == evicted(NOW_MS)


@pytest.mark.parametrize("ahead_ms", [-HOUR_MS, 0, SKEW_MS_MAX])
def test_times_within_the_tolerance_are_left(ahead_ms: int) -> None:
    status = evicted(NOW_MS + ahead_ms)
    assert without_future_times(status, NOW_MS) is status


def test_a_back_off_written_by_a_correct_clock_is_left() -> None:
    """Only another condition has a time in the future."""
    status = transitions.wait(evicted(NOW_MS), "Pending", "", NOW_MS + HOUR_MS)
    corrected = without_future_times(status, NOW_MS)
    assert corrected.requeue_state == RequeueState(requeue_at=rfc3339(NOW_MS + 60_000))
    reserved = find_condition(corrected.conditions, workload_status.QUOTA_RESERVED)
    assert reserved is not None
    assert millis(reserved.last_transition_time) == NOW_MS
