"""The life of a gang between two decisions, step by step."""

import pytest

from muster.admission import CheckState, StopPolicy
from muster.admission.lifecycle import checks, execution, readiness, requeue
from muster.admission.lifecycle.advance import (
    Action,
    Admit,
    Deactivate,
    DeactivationTarget,
    Evict,
    ReservedWorkload,
    Stay,
    next_action,
)
from muster.admission.lifecycle.backoff import Backoff
from muster.admission.lifecycle.checks import CheckStatus
from muster.admission.lifecycle.readiness import PodsReady, Readiness, WaitForPodsReady

NOW_MS = 1_000_000
NOW_S = NOW_MS // 1000
WAIT = WaitForPodsReady(timeout_s=300, recovery_timeout_s=100, backoff=Backoff(60, 600), retries_max=2)
STOPPED = "The LocalQueue is stopped", "The ClusterQueue is stopped"


def check(state: str, name: str = "a", message: str = "", **fields: int) -> CheckStatus:
    return CheckStatus(name, CheckState(state), message, **fields)


def gang(*checked: CheckStatus, admitted_s: int | None = None, **fields: object) -> ReservedWorkload:
    """`admitted_s`: how long ago."""
    at_ms = None if admitted_s is None else NOW_MS - admitted_s * 1000
    return ReservedWorkload("ns/gang", checks=checked, admitted_at_ms=at_ms, **fields)  # type: ignore[arg-type]


def pods(state: Readiness, ago_s: int) -> PodsReady:
    return PodsReady(state, NOW_MS - ago_s * 1000)


REJECTED = Deactivate(
    DeactivationTarget("AdmissionCheck", 'AdmissionCheck in Rejected state: "a" (no nodes)')
)
OVER = Deactivate(DeactivationTarget("MaximumExecutionTimeExceeded", "exceeding the maximum execution time"))
TOO_OFTEN = Deactivate(
    DeactivationTarget("RequeuingLimitExceeded", "exceeding the maximum number of re-queuing retries")
)
HOLD, DRAIN = StopPolicy.HOLD, StopPolicy.HOLD_AND_DRAIN


def timed_out(wait_s: int) -> Evict:
    at_ms = NOW_MS + wait_s * 1000
    return Evict("PodsReadyTimeout", "Exceeded the PodsReady timeout ns/gang", at_ms, counts=True)


STEPS: dict[str, tuple[ReservedWorkload, WaitForPodsReady | None, Action]] = {
    # activity
    "deactivated by a user": (gang(active=False), WAIT, Evict("Deactivated", "The workload is deactivated")),
    "deactivated for a reason": (
        gang(active=False, target=DeactivationTarget("AdmissionCheck", "no nodes")),
        WAIT,
        Evict("DeactivatedDueToAdmissionCheck", "The workload is deactivated due to no nodes"),
    ),
    "deactivation takes precedence": (
        gang(check("Retry"), target=DeactivationTarget("AdmissionCheck", "no nodes")),
        WAIT,
        Deactivate(DeactivationTarget("AdmissionCheck", "no nodes")),
    ),
    # checks
    "no checks": (gang(), WAIT, Admit()),
    "all ready": (gang(check("Ready"), check("Ready", "b")), WAIT, Admit()),
    "all ready, and no places yet for its pods": (gang(check("Ready"), unplaced=True), WAIT, Stay()),
    "one pending": (gang(check("Ready"), check("Pending", "b")), WAIT, Stay()),
    "ready, but its pods have no places": (gang(check("Ready"), unplaced=True), WAIT, Stay()),
    "one asks for another try": (
        gang(check("Retry", message="stock-out", changed_at_ms=NOW_MS, wait_s=60), check("Ready", "b")),
        WAIT,
        Evict(
            "AdmissionCheck",
            'Evicted due to AdmissionCheck in Retry state: "a" (stock-out)',
            NOW_MS + 60_000,
        ),
    ),
    "one asks for it without a pause": (
        gang(check("Retry")),
        WAIT,
        Evict("AdmissionCheck", 'Evicted due to AdmissionCheck in Retry state: "a"'),
    ),
    "one rejected": (gang(check("Rejected", message="no nodes"), check("Retry", "b")), WAIT, REJECTED),
    "one rejected while it runs": (gang(check("Rejected", message="no nodes"), admitted_s=9), WAIT, REJECTED),
    # queues
    "a held LocalQueue": (gang(local_queue_stop=HOLD), WAIT, Evict("LocalQueueStopped", STOPPED[0])),
    "a held ClusterQueue": (gang(cluster_queue_stop=HOLD), WAIT, Evict("ClusterQueueStopped", STOPPED[1])),
    "held while it runs": (
        gang(admitted_s=1, local_queue_stop=HOLD, cluster_queue_stop=HOLD),
        None,
        Stay(),
    ),
    "drained while it runs": (
        gang(admitted_s=1, cluster_queue_stop=DRAIN),
        WAIT,
        Evict("ClusterQueueStopped", STOPPED[1]),
    ),
    "drained by its LocalQueue": (
        gang(admitted_s=1, local_queue_stop=DRAIN, cluster_queue_stop=DRAIN),
        WAIT,
        Evict("LocalQueueStopped", STOPPED[0]),
    ),
    "a stopped job": (gang(admitted_s=1, job_stopped=True), WAIT, Evict("JobStopped", "The job is stopped")),
    "a stopped job that is deactivated": (
        gang(active=False, job_stopped=True),
        WAIT,
        Evict("Deactivated", "The workload is deactivated"),
    ),
    # pods
    "pods may take any time": (gang(admitted_s=10**6), None, Stay()),
    "pods that were never ready": (gang(admitted_s=299), WAIT, Stay(NOW_MS + 1000)),
    "still not ready": (gang(admitted_s=300), WAIT, timed_out(60)),
    "not ready again after another start": (
        gang(admitted_s=300, pods=pods(Readiness.WAIT_FOR_START, 9), requeues=1),
        WAIT,
        timed_out(120),
    ),
    "not ready too often": (gang(admitted_s=300, requeues=2), WAIT, TOO_OFTEN),
    "as often as it likes": (
        gang(admitted_s=1800, requeues=50),
        WaitForPodsReady(),
        timed_out(3600),
    ),
    "ready pods": (gang(admitted_s=900, pods=pods(Readiness.STARTED, 800)), WAIT, Stay()),
    "recovered pods": (gang(admitted_s=900, pods=pods(Readiness.RECOVERED, 1)), WAIT, Stay()),
    "a pod is missing": (
        gang(admitted_s=900, pods=pods(Readiness.WAIT_FOR_RECOVERY, 60)),
        WAIT,
        Stay(NOW_MS + 40_000),
    ),
    "missing too long": (
        gang(admitted_s=900, pods=pods(Readiness.WAIT_FOR_RECOVERY, 100)),
        WAIT,
        timed_out(60),
    ),
    "it may be missing forever": (
        gang(admitted_s=10**6, pods=pods(Readiness.WAIT_FOR_RECOVERY, 10**6)),
        WaitForPodsReady(),
        Stay(),
    ),
    # time
    "within its time": (gang(admitted_s=50, max_run_s=60), None, Stay(NOW_MS + 10_000)),
    "over": (gang(admitted_s=60, max_run_s=60), None, OVER),
    "over with what earlier admissions used": (gang(admitted_s=20, max_run_s=60, past_run_s=40), WAIT, OVER),
    "the nearer of two times": (gang(admitted_s=0, max_run_s=60), WAIT, Stay(NOW_MS + 60_000)),
    "the other one": (gang(admitted_s=0, max_run_s=6000), WAIT, Stay(NOW_MS + 300_000)),
    "not counted before it is admitted": (gang(check("Pending"), max_run_s=1), WAIT, Stay()),
}


@pytest.mark.parametrize("name", STEPS)
def test_gang_that_holds_quota_has_a_next_action(name: str) -> None:
    holder, rules, expected = STEPS[name]
    assert next_action(holder, rules, NOW_MS) == expected


@pytest.mark.parametrize(
    ("attempt", "wait_s"), [(1, 60), (2, 120), (5, 960), (6, 1800), (7, 1800), (10**9, 1800)]
)
def test_back_off_doubles_up_to_its_limit(attempt: int, wait_s: int) -> None:
    assert Backoff(60, 1800).wait_s(attempt) == wait_s


def test_back_off_is_never_longer_than_its_limit() -> None:
    assert Backoff(60, 10).wait_s(1) == 10


READINESS = {
    # (before, ready) -> after
    (None, False): Readiness.WAIT_FOR_START,
    (None, True): Readiness.STARTED,
    (Readiness.WAIT_FOR_START, False): Readiness.WAIT_FOR_START,
    (Readiness.WAIT_FOR_START, True): Readiness.STARTED,
    (Readiness.STARTED, False): Readiness.WAIT_FOR_RECOVERY,
    (Readiness.STARTED, True): Readiness.STARTED,
    (Readiness.WAIT_FOR_RECOVERY, False): Readiness.WAIT_FOR_RECOVERY,
    (Readiness.WAIT_FOR_RECOVERY, True): Readiness.RECOVERED,
    (Readiness.RECOVERED, False): Readiness.WAIT_FOR_RECOVERY,
    (Readiness.RECOVERED, True): Readiness.RECOVERED,
}


@pytest.mark.parametrize(("before", "ready"), READINESS)
def test_readiness_follows_the_pods(before: Readiness | None, ready: bool) -> None:
    assert readiness.readiness_after(before, ready) is READINESS[before, ready]


def test_several_checks_in_one_sentence() -> None:
    statuses = (check("Retry", "b", "later"), check("Ready", "c"), check("Retry", "a"))
    assert checks.sentence(statuses, CheckState.RETRY) == 'AdmissionChecks in Retry state: "a"; "b" (later)'


def test_the_longest_pause_counts() -> None:
    statuses = (
        check("Retry", "a", changed_at_ms=5_000, wait_s=10),
        check("Retry", "b", changed_at_ms=0, wait_s=20),
        check("Ready", "c", changed_at_ms=0, wait_s=99),
        check("Retry", "d", changed_at_ms=99_000),
    )
    assert checks.retry_at_ms(statuses) == 20_000
    assert checks.retry_at_ms(statuses[2:]) is None


# state -> retries after an eviction, of two before it
RETRIES = {"Retry": 3, "Ready": 0, "Rejected": 0}


@pytest.mark.parametrize("state", RETRIES)
def test_an_eviction_resets_a_check(state: str) -> None:
    before = check(state, message="said", changed_at_ms=1, retries=2, wait_s=60)
    message = f"Reset to Pending after eviction. Previously: {state}"
    after = check("Pending", message=message, changed_at_ms=NOW_MS, retries=RETRIES[state], wait_s=60)
    assert checks.reset_check(before, NOW_MS) == after


def test_a_pending_check_is_as_it_was() -> None:
    before = check("Pending", message="ETA 10:36", changed_at_ms=1, retries=2)
    assert checks.reset_check(before, NOW_MS) == before


def test_time_is_added_up_in_whole_seconds() -> None:
    assert execution.used_execution_s(40, NOW_MS - 20_999, NOW_MS) == 60
    assert execution.used_execution_s(40, NOW_MS + 5, NOW_MS) == 40


Away = requeue.EvictedWorkload
BACK: dict[str, tuple[Away, str | None]] = {
    "a user's wish": (Away("Deactivated", active=False), None),
    "deactivated for a reason": (Away("DeactivatedDueToAdmissionCheck", active=False), None),
    "active again": (Away("DeactivatedDueToAdmissionCheck"), "Reactivated"),
    "in its back-off": (Away("PodsReadyTimeout", requeue_at_ms=NOW_MS + 1), None),
    "after it": (Away("PodsReadyTimeout", requeue_at_ms=NOW_MS), "BackoffFinished"),
    "a check that asked for no pause": (Away("AdmissionCheck"), "BackoffFinished"),
    "its ClusterQueue is stopped": (Away("ClusterQueueStopped", cluster_queue_stop=HOLD), None),
    "no longer": (Away("ClusterQueueStopped", local_queue_stop=HOLD), "ClusterQueueRestarted"),
    "its LocalQueue is stopped": (Away("LocalQueueStopped", local_queue_stop=DRAIN), None),
    "nor that": (Away("LocalQueueStopped"), "LocalQueueRestarted"),
    "its job is stopped": (Away("JobStopped", job_stopped=True), None),
    "its job is resumed": (Away("JobStopped", cluster_queue_stop=HOLD), "JobRestarted"),
    "preempted": (Away("Preempted"), "Preempted"),
}


@pytest.mark.parametrize("name", BACK)
def test_back_in_the_queue(name: str) -> None:
    away, reason = BACK[name]
    back = requeue.back_in_queue(away, NOW_MS)
    assert (back.reason if back else None) == reason
