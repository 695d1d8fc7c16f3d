"""Transitions of a Workload's status, one by one."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from muster import admission as core
from muster.admission import Rules
from muster.admission.lifecycle import Readiness
from muster.cluster.jobs.job import JobOutcome
from muster.controller.workload import transitions
from muster.objects.kueue import AdmissionCheckState, RequeueState, WorkloadStatus
from muster.objects.kueue_checks import set_check
from muster.objects.meta import find_condition, millis, rfc3339
from muster.translation import core_workload
from tests.simulation.manifests import CHECK, ray_job
from tests.unit.controller.builders import CREATED, NOW_MS, workload

NOW = rfc3339(NOW_MS)
ADMISSION = core.Admission(
    "team-a",
    (core.PodSetAssignment("gpu", 2, {"cpu": "l4", "memory": "l4"}, {"cpu": 2500, "memory": 2**21}),),
)
Step = Callable[[WorkloadStatus], WorkloadStatus]


def status(*true: str, check: str = "", tries: int = 0) -> WorkloadStatus:
    return workload(ray_job("dev"), *true, check=check, tries=tries).status


def conditions_of(after: WorkloadStatus) -> set[str]:
    """Returns the conditions with their status and reason."""
    return {f"{c.type}={c.status}:{c.reason}" for c in after.conditions}


# name: (status before, the step, the conditions that it sets)
STEPS: dict[str, tuple[WorkloadStatus, Step, set[str]]] = {
    "reserve without checks admits": (
        status(),
        lambda s: transitions.reserve(s, ADMISSION, (), NOW_MS),
        {"QuotaReserved=True:QuotaReserved", "Admitted=True:Admitted"},
    ),
    "reserve with a check waits for it": (
        status(),
        lambda s: transitions.reserve(s, ADMISSION, (CHECK,), NOW_MS),
        {"QuotaReserved=True:QuotaReserved"},
    ),
    "reserve ends an eviction": (
        status("Evicted", "Preempted"),
        lambda s: transitions.reserve(s, ADMISSION, (CHECK,), NOW_MS),
        {"QuotaReserved=True:QuotaReserved", "Evicted=False:QuotaReserved", "Preempted=False:QuotaReserved"},
    ),
    "ready checks admit": (
        status("QuotaReserved", check="Ready"),
        lambda s: transitions.sync_admitted(s, NOW_MS),
        {"QuotaReserved=True:QuotaReserved", "Admitted=True:Admitted"},
    ),
    "a pending check does not": (
        status("QuotaReserved", check="Pending"),
        lambda s: transitions.sync_admitted(s, NOW_MS),
        {"QuotaReserved=True:QuotaReserved"},
    ),
    "ready checks without quota do not": (
        status(check="Ready"),
        lambda s: transitions.sync_admitted(s, NOW_MS),
        set(),
    ),
    "wait": (
        status(),
        lambda s: transitions.wait(s, "WaitingForQuota", "needs 4", NOW_MS),
        {"QuotaReserved=False:WaitingForQuota"},
    ),
    "evict": (
        status("QuotaReserved"),
        lambda s: transitions.evict(s, "Deactivated", "by a user", NOW_MS),
        {"QuotaReserved=True:QuotaReserved", "Evicted=True:Deactivated"},
    ),
    "preempt": (
        status("QuotaReserved"),
        lambda s: transitions.preempt(s, "InClusterQueue", "for prod", NOW_MS),
        {"QuotaReserved=True:QuotaReserved", "Evicted=True:Preempted", "Preempted=True:InClusterQueue"},
    ),
    "release of an unadmitted workload": (
        status("QuotaReserved", "Evicted"),
        lambda s: transitions.release(s, NOW_MS),
        {"QuotaReserved=False:Pending", "Evicted=True:Evicted", "Requeued=False:Evicted"},
    ),
    "release of an admitted workload": (
        status("QuotaReserved", "Admitted", "PodsReady", "Evicted"),
        lambda s: transitions.release(s, NOW_MS),
        {
            "QuotaReserved=False:Pending",
            "Admitted=False:NoReservation",
            "PodsReady=False:WaitForStart",
            "Evicted=True:Evicted",
            "Requeued=False:Evicted",
        },
    ),
    "release of a preempted workload": (
        transitions.preempt(status("QuotaReserved"), "InClusterQueue", "for prod", millis(CREATED)),
        lambda s: transitions.release(s, NOW_MS),
        {
            "QuotaReserved=False:Pending",
            "Evicted=True:Preempted",
            "Preempted=True:InClusterQueue",
            "Requeued=True:Preempted",
        },
    ),
    "release without an eviction": (
        status("QuotaReserved"),
        lambda s: transitions.release(s, NOW_MS),
        {"QuotaReserved=False:Pending", "Requeued=True:Preempted"},
    ),
    "requeued": (
        status("Evicted"),
        lambda s: transitions.requeued(s, "BackoffFinished", "over", NOW_MS),
        {"Evicted=True:Evicted", "Requeued=True:BackoffFinished"},
    ),
    "deactivate": (
        status("Admitted"),
        lambda s: transitions.deactivate(s, "AdmissionCheck", "no nodes", NOW_MS),
        {"Admitted=True:Admitted", "DeactivationTarget=True:AdmissionCheck"},
    ),
    "inactive with a deactivation target": (
        status("Evicted", "DeactivationTarget"),
        transitions.without_deactivation_target,
        {"Evicted=True:Evicted"},
    ),
    "succeeded": (
        status("Admitted"),
        lambda s: transitions.finish(s, JobOutcome(True, "done"), NOW_MS),
        {"Admitted=True:Admitted", "Finished=True:Succeeded"},
    ),
    "failed": (
        status("Admitted"),
        lambda s: transitions.finish(s, JobOutcome(False, "exit 1"), NOW_MS),
        {"Admitted=True:Admitted", "Finished=True:Failed"},
    ),
    "pods are ready": (
        status(),
        lambda s: transitions.pods_ready(s, Readiness.STARTED, NOW_MS),
        {"PodsReady=True:Started"},
    ),
    "a pod is missing": (
        status("PodsReady"),
        lambda s: transitions.pods_ready(s, Readiness.WAIT_FOR_RECOVERY, NOW_MS),
        {"PodsReady=False:WaitForRecovery"},
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_conditions_after_a_transition(name: str) -> None:
    before, take, expected = STEPS[name]
    after = take(before)
    assert conditions_of(after) == expected
    for condition in after.conditions:
        old = find_condition(before.conditions, condition.type)
        moved = old is None or old.status != condition.status
        assert condition.last_transition_time == (NOW if moved else CREATED)


def test_reserve_writes_the_admission_of_the_api() -> None:
    reserved = transitions.reserve(status(), ADMISSION, (CHECK,), NOW_MS)
    assert reserved.admission is not None
    (assigned,) = reserved.admission.pod_set_assignments
    assert (reserved.admission.cluster_queue, assigned.name, assigned.count) == ("team-a", "gpu", 2)
    assert assigned.resource_usage == {"cpu": "2500m", "memory": "2Mi"}
    assert reserved.admission_checks == (
        AdmissionCheckState(name=CHECK, state="Pending", message="", last_transition_time=NOW),
    )


def test_reserve_keeps_the_requeue_count_and_clears_the_time() -> None:
    before = transitions.requeue_at(status("Evicted", check="Pending", tries=2), NOW_MS, counts=True)
    after = transitions.reserve(before, ADMISSION, (CHECK,), NOW_MS)
    assert after.admission_checks[0].retry_count == 2
    assert after.requeue_state == RequeueState(count=1, requeue_at=None)


# the check's state before an eviction -> its tries and message after it
RESET = {
    "Retry": (3, "Reset to Pending after eviction. Previously: Retry"),
    "Ready": (0, "Reset to Pending after eviction. Previously: Ready"),
    "Rejected": (0, "Reset to Pending after eviction. Previously: Rejected"),
    "Pending": (2, ""),
}


@pytest.mark.parametrize("state", RESET)
def test_an_eviction_resets_the_checks(state: str) -> None:
    after = transitions.evict(status("QuotaReserved", check=state, tries=2), "AdmissionCheck", "", NOW_MS)
    (check,) = after.admission_checks
    assert (check.state, check.pod_set_updates) == ("Pending", ())
    assert (check.retry_count, check.message) == RESET[state]
    assert check.last_transition_time == (CREATED if state == "Pending" else NOW)


def test_release_removes_the_admission_and_adds_up_the_run_time() -> None:
    before = replace(
        status("QuotaReserved", "Admitted", "Evicted"), accumulated_past_execution_time_seconds=7
    )
    after = transitions.release(before, NOW_MS)
    assert after.admission is None
    assert after.accumulated_past_execution_time_seconds == 67  # admitted 60 s ago
    assert (
        transitions.release(status("QuotaReserved"), NOW_MS).accumulated_past_execution_time_seconds is None
    )


def test_a_workload_that_used_its_execution_time_gets_all_of_it_again() -> None:
    before = replace(status("QuotaReserved", "Admitted"), accumulated_past_execution_time_seconds=7)
    evicted = transitions.evict(before, "DeactivatedDueToMaximumExecutionTimeExceeded", "", NOW_MS)
    assert transitions.release(evicted, NOW_MS).accumulated_past_execution_time_seconds is None


LONGER = RequeueState(count=4, requeue_at=rfc3339(NOW_MS + 60_000))
# (before, until, whether it counts) -> (count, until)
PAUSES = {
    "whole second": (None, 4000, True, (1, 4000)),
    "within a second": (None, 4001, True, (1, 5000)),
    "an eviction that does not count": (None, 4000, False, (0, 4000)),
    "a longer one stays": (LONGER, 4000, True, (5, 60_000)),
    "a shorter one does not": (LONGER, 61_000, True, (5, 61_000)),
    "none": (None, None, False, None),
}


@pytest.mark.parametrize("name", PAUSES)
def test_a_back_off_is_never_shortened(name: str) -> None:
    before, until_ms, counts, expected = PAUSES[name]
    at_ms = None if until_ms is None else NOW_MS + until_ms
    after = transitions.requeue_at(
        replace(status(), requeue_state=before), at_ms, counts=counts
    ).requeue_state
    actual = (after.count, millis(after.requeue_at) - NOW_MS) if after is not None else None
    assert actual == expected


@pytest.mark.parametrize(("state", "moved"), [("Ready", True), ("Pending", False)])
def test_the_time_of_a_check_moves_with_its_state(state: str, moved: bool) -> None:
    after = set_check(status(check="Pending"), CHECK, NOW_MS, state=state, message="said")
    assert (after.admission_checks[0].state, after.admission_checks[0].message) == (state, "said")
    assert after.admission_checks[0].last_transition_time == (NOW if moved else CREATED)


def test_another_check_stays_as_it_is() -> None:
    before = status(check="Pending")
    assert set_check(before, "another", NOW_MS, state="Ready") == before


QUEUED_SINCE = {
    "creation": (None, CREATED),
    "a preempted workload keeps its place": ("Preempted", CREATED),
    "a workload with a failed check goes to the back": ("AdmissionCheck", NOW),
}


@pytest.mark.parametrize("name", QUEUED_SINCE)
def test_the_time_that_orders_the_queue(name: str) -> None:
    reason, expected = QUEUED_SINCE[name]
    gang = workload(ray_job("dev"), "QuotaReserved")
    if reason is not None:
        gang = replace(gang, status=transitions.evict(gang.status, reason, "", NOW_MS))
    assert core_workload.queued_at_ms(gang, gang.status, Rules()) == millis(expected)


@pytest.mark.parametrize(
    ("before", "begins_ms"),
    [
        pytest.param(transitions.SCALED_DOWN, NOW_MS, id="pods that the job removes had no notice"),
        pytest.param("InClusterQueue", NOW_MS - 20_000, id="an earlier preemption began it"),
    ],
)
def test_notice_begins_with_the_first_preemption(before: str, begins_ms: int) -> None:
    status = transitions.shrinking(WorkloadStatus(), before, "before", NOW_MS - 20_000)
    preempted = transitions.shrinking(status, "InCohortReclamation", "now", NOW_MS)
    condition = find_condition(preempted.conditions, "Shrinking")
    assert condition is not None
    assert (condition.reason, millis(condition.last_transition_time)) == ("InCohortReclamation", begins_ms)
