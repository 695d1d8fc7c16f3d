"""The core's lifecycle rules applied to a Workload's status."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from muster import admission as core
from muster.admission.lifecycle import Backoff, Readiness, WaitForPodsReady
from muster.configuration.configuration import Configuration
from muster.controller.workload import decisions, lifecycle, transitions
from muster.controller.workload.facts import Facts
from muster.kube import kinds
from muster.objects.kueue import RequeueState, Workload, WorkloadStatus
from muster.objects.kueue_checks import set_check
from muster.objects.meta import Condition, find_condition, rfc3339
from tests.simulation.manifests import (
    CHECK,
    PREEMPTION,
    annotated,
    cluster_queue,
    local_queue,
    quotas,
    ray_job,
)
from tests.unit.controller.builders import (
    NOW_MS,
    Body,
    controlled_by,
    make_cluster,
    pod,
    stored,
    workload,
)

WAIT = WaitForPodsReady(timeout_s=60, recovery_timeout_s=30, backoff=Backoff(60, 600), retries_max=1)
RUNS = ("QuotaReserved", "Admitted")  # for 60 s
Objects = dict[Any, list[Body]]
STOPPED_CLUSTER_QUEUE: Objects = {
    kinds.CLUSTER_QUEUES: [
        cluster_queue("team-a", quotas("cpu", cpu=8), preemption=PREEMPTION, stopPolicy="HoldAndDrain")
    ]
}
STOPPED_LOCAL_QUEUE: Objects = {
    kinds.LOCAL_QUEUES: [
        {
            **local_queue("team-a", "team-a"),
            "spec": {"clusterQueue": "team-a", "stopPolicy": "HoldAndDrain"},
        }
    ]
}
STOPPED_JOB: Objects = {kinds.RAY_JOBS: [stored(annotated(ray_job("dev"), stop="true"))]}


def gang(*true: str, **fields: Any) -> Workload:
    return workload(ray_job("dev"), *true, **fields)


def having(of: Workload, **fields: Any) -> Workload:
    return replace(of, status=replace(of.status, **fields))


def limited(of: Workload, seconds: int) -> Workload:
    return replace(of, spec=replace(of.spec, maximum_execution_time_seconds=seconds))


def true_conditions(status: WorkloadStatus) -> set[str]:
    """Returns the conditions that are True, with their reasons."""
    return {f"{c.type}:{c.reason}" for c in status.conditions if c.status == "True"}


def facts(of: Workload, objects: Objects | None = None, wait: WaitForPodsReady | None = None) -> Facts:
    return Facts(of, make_cluster(objects or {}), Configuration(wait_for_pods_ready=wait), NOW_MS)


HOLDS = {"QuotaReserved:QuotaReserved"}
RUNNING = HOLDS | {"Admitted:Admitted"}
# (the Workload, objects, waitForPodsReady) -> (its conditions, when time changes it)
ADVANCED: dict[str, tuple[Workload, Objects, WaitForPodsReady | None, set[str], int | None]] = {
    "nothing to do": (gang(*RUNS), {}, None, RUNNING, None),
    "checks are ready": (gang("QuotaReserved", check="Ready"), {}, None, RUNNING, None),
    "its time runs from its admission": (
        limited(gang("QuotaReserved", check="Ready"), 600),
        {},
        WaitForPodsReady(timeout_s=900),
        RUNNING,
        NOW_MS + 600_000,
    ),
    "a stopped ClusterQueue": (
        gang(*RUNS),
        STOPPED_CLUSTER_QUEUE,
        None,
        RUNNING | {"Evicted:ClusterQueueStopped"},
        None,
    ),
    "a stopped LocalQueue": (
        gang(*RUNS),
        STOPPED_LOCAL_QUEUE,
        None,
        RUNNING | {"Evicted:LocalQueueStopped"},
        None,
    ),
    "its job is stopped by its user": (
        gang(*RUNS),
        STOPPED_JOB,
        None,
        RUNNING | {"Evicted:JobStopped"},
        None,
    ),
    "its queues are deleted": (
        gang(*RUNS),
        {kinds.CLUSTER_QUEUES: [], kinds.LOCAL_QUEUES: []},
        None,
        RUNNING,
        None,
    ),
    "pods not ready": (gang(*RUNS), {}, WAIT, RUNNING | {"Evicted:PodsReadyTimeout"}, None),
    "too often": (
        having(gang(*RUNS), requeue_state=RequeueState(count=1)),
        {},
        WAIT,
        RUNNING | {"DeactivationTarget:RequeuingLimitExceeded"},
        None,
    ),
    "deactivated": (gang(*RUNS, active=False), {}, WAIT, RUNNING | {"Evicted:Deactivated"}, None),
    "deactivated at last": (
        gang(*RUNS, "DeactivationTarget", active=False),
        {},
        WAIT,
        RUNNING | {"Evicted:DeactivatedDueToDeactivationTarget"},
        None,
    ),
}


@pytest.mark.parametrize("name", ADVANCED)
def test_a_workload_with_quota_advances(name: str) -> None:
    of, objects, wait, conditions, until_ms = ADVANCED[name]
    status, expected_ms = lifecycle.advance(facts(of, objects, wait))
    assert true_conditions(status) == conditions
    assert expected_ms == until_ms


def test_a_stock_out_evicts_it_for_the_back_off_of_its_check() -> None:
    of = gang("QuotaReserved", check="Pending")
    asks = {"state": "Retry", "message": "out of stock", "requeue_after_seconds": 60}
    status = set_check(of.status, CHECK, NOW_MS, **asks)
    after, _ = lifecycle.advance(facts(replace(of, status=status)))
    evicted = find_condition(after.conditions, "Evicted")
    assert evicted is not None
    assert evicted.message == f'Evicted due to AdmissionCheck in Retry state: "{CHECK}" (out of stock)'
    assert after.requeue_state == RequeueState(count=0, requeue_at=rfc3339(NOW_MS + 61_000))
    (check,) = after.admission_checks
    assert (check.state, check.retry_count) == ("Pending", 1)


def test_an_eviction_by_timeout_counts_as_a_requeue() -> None:
    of = having(gang(*RUNS), requeue_state=RequeueState(count=1))
    wait = WaitForPodsReady(timeout_s=60, backoff=Backoff(60, 600))
    after, _ = lifecycle.advance(facts(of, wait=wait))
    assert after.requeue_state == RequeueState(count=2, requeue_at=rfc3339(NOW_MS + 120_000))


def pods(reason: str, status: str) -> Callable[[Workload], Workload]:
    def change(of: Workload) -> Workload:
        condition = Condition(
            type="PodsReady", status=status, reason=reason, last_transition_time=rfc3339(NOW_MS)
        )
        return having(of, conditions=(*of.status.conditions, condition))

    return change


# (PodsReady, whether all are ready now) -> its reason then
PODS: dict[str, tuple[Callable[[Workload], Workload], bool, str | None]] = {
    "never ready": (lambda of: of, False, None),
    "ready": (lambda of: of, True, "Started"),
    "one is missing": (pods("Started", "True"), False, "WaitForRecovery"),
    "still missing": (pods("WaitForRecovery", "False"), False, "WaitForRecovery"),
    "recovered": (pods("WaitForRecovery", "False"), True, "Recovered"),
    "a reason of an older version, waiting": (pods("Pending", "False"), False, "WaitForStart"),
    "a reason of an older version, running": (pods("PodsReady", "True"), True, "Started"),
    "a reason of an older version, one is missing": (
        pods("PodsReady", "True"),
        False,
        "WaitForRecovery",
    ),
}


@pytest.mark.parametrize("name", PODS)
def test_pods_ready_follows_the_pods(name: str) -> None:
    change, ready, reason = PODS[name]
    status = lifecycle.sync_pods_ready(change(gang(*RUNS)).status, ready, NOW_MS)
    condition = find_condition(status.conditions, "PodsReady")
    assert (condition.reason if condition else None) == reason
    if condition is not None:
        assert condition.message == transitions.POD_SENTENCES[Readiness(condition.reason)]


def submitter(**status: str) -> Body:
    body = pod(gang().metadata.uid, **status)
    body["metadata"]["ownerReferences"] = [controlled_by(kinds.BATCH_JOBS, "train")]
    return body


def with_ready(body: Body, status: str, reason: str = "") -> Body:
    """Sets the pod's condition Ready."""
    condition = {"type": "Ready", "status": status, "reason": reason}
    body["status"]["conditions"] = [{"type": "PodScheduled", "status": "True"}, condition]
    return body


TERMINATING = {"deletionTimestamp": rfc3339(NOW_MS)}
OF_A_GANG: dict[str, tuple[Body, bool]] = {
    "runs": (pod(gang().metadata.uid), True),
    "has ended, as a submitter": (pod(gang().metadata.uid, phase="Succeeded"), True),
    "finds no node": (pod(gang().metadata.uid, phase="Pending"), False),
    "its node does not respond": (pod(gang().metadata.uid, phase="Unknown"), False),
    "the node controller reports its node as lost": (with_ready(pod(gang().metadata.uid), "False"), False),
    "its kubelet reports it as ready": (with_ready(pod(gang().metadata.uid), "True"), True),
    "its kubelet reports it as not ready, as Serve's workers without replicas": (
        with_ready(pod(gang().metadata.uid), "False", "ContainersNotReady"),
        True,
    ),
    "is deleted with its node": (pod(gang().metadata.uid, **TERMINATING), False),
    "of another gang": (pod("uid-other", phase="Pending"), True),
    "submits its job": (submitter(phase="Pending"), True),
}


@pytest.mark.parametrize("name", OF_A_GANG)
def test_pods_of_a_gang_all_run(name: str) -> None:
    body, run = OF_A_GANG[name]
    assert facts(gang(), {kinds.PODS: [body]}).pods_run() is run


def away(reason: str, requeue_s: int | None = None, **fields: Any) -> Workload:
    """Without quota since an eviction."""
    condition = Condition(type="Requeued", status="False", reason=reason)
    state = (
        None if requeue_s is None else RequeueState(count=1, requeue_at=rfc3339(NOW_MS + requeue_s * 1000))
    )
    return having(gang(**fields), conditions=(condition,), requeue_state=state)


REQUEUES: dict[str, tuple[Workload, Objects, set[str]]] = {
    "never away": (gang(), {}, set()),
    "back already": (gang("Requeued"), {}, {"Requeued:Requeued"}),
    "inactive": (away("Deactivated", active=False), {}, set()),
    "active again": (away("Deactivated"), {}, {"Requeued:Reactivated"}),
    "in its back-off": (away("PodsReadyTimeout", 1), {}, set()),
    "after it": (away("PodsReadyTimeout", 0), {}, {"Requeued:BackoffFinished"}),
    "its ClusterQueue is stopped": (away("ClusterQueueStopped"), STOPPED_CLUSTER_QUEUE, set()),
    "or not": (away("ClusterQueueStopped"), {}, {"Requeued:ClusterQueueRestarted"}),
    "its LocalQueue is stopped": (away("LocalQueueStopped"), STOPPED_LOCAL_QUEUE, set()),
    "or is not": (away("LocalQueueStopped"), {}, {"Requeued:LocalQueueRestarted"}),
    "its job is stopped": (away("JobStopped"), STOPPED_JOB, set()),
    "or resumed": (away("JobStopped"), {}, {"Requeued:JobRestarted"}),
}


@pytest.mark.parametrize("name", REQUEUES)
def test_a_workload_is_requeued_once_its_cause_is_over(name: str) -> None:
    of, objects, conditions = REQUEUES[name]
    status, _ = lifecycle.advance(facts(of, objects))
    assert true_conditions(status) == conditions
    if conditions - {"Requeued:Requeued"} and of.status.requeue_state is not None:
        assert status.requeue_state == RequeueState(count=1, requeue_at=None)


def test_an_inactive_workload_loses_its_requeue_state() -> None:
    of = having(gang("DeactivationTarget", active=False), requeue_state=RequeueState(count=3))
    status, _ = lifecycle.advance(facts(of))
    assert (status.conditions, status.requeue_state) == ((), None)


ONE, TWO = (core.PlannedAdmission(key, core.Admission("team-a", ())) for key in ("a/one", "a/two"))
READY = workload(ray_job("dev"), *RUNS, "PodsReady").status
STARTING = workload(ray_job("dev"), *RUNS).status
ENDED = workload(ray_job("dev"), *RUNS, "Finished").status
BLOCK = WaitForPodsReady(block_admission=True)
BLOCKED: dict[str, tuple[WorkloadStatus, WaitForPodsReady | None, set[str]]] = {
    "no waitForPodsReady": (STARTING, None, set()),
    "without blockAdmission": (STARTING, WaitForPodsReady(), set()),
    "one at a time": (READY, BLOCK, {"a/two"}),
    "none while one starts": (STARTING, BLOCK, {"a/one", "a/two"}),
    "an ended gang does not block": (ENDED, BLOCK, {"a/two"}),
}


@pytest.mark.parametrize("name", BLOCKED)
def test_block_admission_admits_one_gang_at_a_time(name: str) -> None:
    before, wait, kept_out = BLOCKED[name]
    statuses = {"a/before": before, "a/one": WorkloadStatus(), "a/two": WorkloadStatus()}
    blocked = decisions.blocked_admissions(core.Plan((ONE, TWO), (), ()), statuses, wait, NOW_MS)
    assert set(blocked) == kept_out
    for status in blocked.values():
        (told_now,) = status.conditions
        assert (told_now.reason, told_now.status) == ("WaitingForPodsReady", "False")
