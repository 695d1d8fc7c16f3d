"""The steps in the life of a Workload, one by one."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from muster import admission as core
from muster.admission import Rules
from muster.controller import transitions as step
from muster.controller.jobs.job import Outcome
from muster.objects import gangs
from muster.objects.kueue import AdmissionCheckState, RequeueState, WorkloadStatus
from muster.objects.meta import find_condition, millis, rfc3339
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


def told(after: WorkloadStatus) -> set[str]:
    """The conditions with their status and reason."""
    return {f"{c.type}={c.status}:{c.reason}" for c in after.conditions}


# name: (status before, the step, the conditions that it sets)
STEPS: dict[str, tuple[WorkloadStatus, Step, set[str]]] = {
    "reserve without checks admits": (
        status(),
        lambda s: step.reserve(s, ADMISSION, (), NOW_MS),
        {"QuotaReserved=True:QuotaReserved", "Admitted=True:Admitted"},
    ),
    "reserve with a check waits for it": (
        status(),
        lambda s: step.reserve(s, ADMISSION, (CHECK,), NOW_MS),
        {"QuotaReserved=True:QuotaReserved"},
    ),
    "reserve ends an eviction": (
        status("Evicted", "Preempted"),
        lambda s: step.reserve(s, ADMISSION, (CHECK,), NOW_MS),
        {"QuotaReserved=True:QuotaReserved", "Evicted=False:QuotaReserved", "Preempted=False:QuotaReserved"},
    ),
    "ready checks admit": (
        status("QuotaReserved", check="Ready"),
        lambda s: step.sync_admitted(s, NOW_MS),
        {"QuotaReserved=True:QuotaReserved", "Admitted=True:Admitted"},
    ),
    "a pending check does not": (
        status("QuotaReserved", check="Pending"),
        lambda s: step.sync_admitted(s, NOW_MS),
        {"QuotaReserved=True:QuotaReserved"},
    ),
    "ready checks without quota do not": (
        status(check="Ready"),
        lambda s: step.sync_admitted(s, NOW_MS),
        set(),
    ),
    "wait": (
        status(),
        lambda s: step.wait(s, "WaitingForQuota", "needs 4", NOW_MS),
        {"QuotaReserved=False:WaitingForQuota"},
    ),
    "evict": (
        status("QuotaReserved"),
        lambda s: step.evict(s, "Deactivated", "by a user", NOW_MS),
        {"QuotaReserved=True:QuotaReserved", "Evicted=True:Deactivated"},
    ),
    "preempt": (
        status("QuotaReserved"),
        lambda s: step.preempt(s, "InClusterQueue", "for prod", NOW_MS),
        {"QuotaReserved=True:QuotaReserved", "Evicted=True:Preempted", "Preempted=True:InClusterQueue"},
    ),
    "release of what was only reserved": (
        status("QuotaReserved", "Evicted"),
        lambda s: step.release(s, NOW_MS),
        {"QuotaReserved=False:Pending", "Evicted=True:Evicted", "Requeued=True:Evicted"},
    ),
    "release of what ran": (
        status("QuotaReserved", "Admitted", "PodsReady", "Evicted"),
        lambda s: step.release(s, NOW_MS),
        {
            "QuotaReserved=False:Pending",
            "Admitted=False:NoReservation",
            "PodsReady=False:Pending",
            "Evicted=True:Evicted",
            "Requeued=True:Evicted",
        },
    ),
    "succeeded": (
        status("Admitted"),
        lambda s: step.finish(s, Outcome(True, "done"), NOW_MS),
        {"Admitted=True:Admitted", "Finished=True:Succeeded"},
    ),
    "failed": (
        status("Admitted"),
        lambda s: step.finish(s, Outcome(False, "exit 1"), NOW_MS),
        {"Admitted=True:Admitted", "Finished=True:Failed"},
    ),
    "pods are ready": (
        status(),
        lambda s: step.pods_ready(s, True, NOW_MS),
        {"PodsReady=True:Started"},
    ),
    "pods are not ready any more": (
        status("PodsReady"),
        lambda s: step.pods_ready(s, False, NOW_MS),
        {"PodsReady=False:Pending"},
    ),
    "pods were never ready": (status(), lambda s: step.pods_ready(s, False, NOW_MS), set()),
}


@pytest.mark.parametrize("name", STEPS)
def test_conditions_after_a_step(name: str) -> None:
    before, take, wanted = STEPS[name]
    after = take(before)
    assert told(after) == wanted
    for condition in after.conditions:
        old = find_condition(before.conditions, condition.type)
        moved = old is None or old.status != condition.status
        assert condition.last_transition_time == (NOW if moved else CREATED)


def test_reserve_writes_the_admission_as_the_api_has_it() -> None:
    given = step.reserve(status(), ADMISSION, (CHECK,), NOW_MS)
    assert given.admission is not None
    (assigned,) = given.admission.pod_set_assignments
    assert (given.admission.cluster_queue, assigned.name, assigned.count) == ("team-a", "gpu", 2)
    assert assigned.resource_usage == {"cpu": "2500m", "memory": "2Mi"}
    assert given.admission_checks == (
        AdmissionCheckState(name=CHECK, state="Pending", message="", last_transition_time=NOW),
    )


def test_reserve_remembers_the_tries_and_forgets_the_pause() -> None:
    before = step.retry_later(status("Evicted", check="Pending", tries=2), NOW_MS)
    after = step.reserve(before, ADMISSION, (CHECK,), NOW_MS)
    assert after.admission_checks[0].retry_count == 2
    assert after.requeue_state == RequeueState(count=0, requeue_at=None)


def test_release_takes_everything_back_but_the_tries() -> None:
    after = step.release(status("QuotaReserved", "Evicted", check="Retry", tries=2), NOW_MS)
    assert after.admission is None
    (check,) = after.admission_checks
    assert (check.state, check.retry_count, check.pod_set_updates) == ("Pending", 2, ())
    assert check.message == "Reset to Pending after eviction. Previously: Retry"


PAUSES = {"whole second": (NOW_MS, NOW_MS + 4000), "within a second": (NOW_MS + 1, NOW_MS + 5000)}


@pytest.mark.parametrize("name", PAUSES)
def test_a_pause_is_never_shorter_than_asked(name: str) -> None:
    now_ms, wanted_ms = PAUSES[name]
    checks = status(check="Retry", tries=3)
    asked = step.set_check(checks, CHECK, now_ms, requeue_after_seconds=4)
    after = step.retry_later(asked, now_ms)
    assert after.requeue_state is not None
    assert after.requeue_state.count == 3
    assert gangs.requeue_at_ms(after) == wanted_ms


@pytest.mark.parametrize(("state", "moved"), [("Ready", True), ("Pending", False)])
def test_the_time_of_a_check_moves_with_its_state(state: str, moved: bool) -> None:
    after = step.set_check(status(check="Pending"), CHECK, NOW_MS, state=state, message="said")
    assert (after.admission_checks[0].state, after.admission_checks[0].message) == (state, "said")
    assert after.admission_checks[0].last_transition_time == (NOW if moved else CREATED)


def test_another_check_stays_as_it_is() -> None:
    before = status(check="Pending")
    assert step.set_check(before, "another", NOW_MS, state="Ready") == before


QUEUED_SINCE = {
    "creation": (None, CREATED),
    "a preemption keeps its place": ("Preempted", CREATED),
    "a failed check goes to the back": ("AdmissionCheck", NOW),
}


@pytest.mark.parametrize("name", QUEUED_SINCE)
def test_queued_since(name: str) -> None:
    reason, wanted = QUEUED_SINCE[name]
    gang = workload(ray_job("dev"), "QuotaReserved")
    if reason is not None:
        gang = replace(gang, status=step.evict(gang.status, reason, "", NOW_MS))
    assert gangs.queued_at_ms(gang, gang.status, Rules()) == millis(wanted)
