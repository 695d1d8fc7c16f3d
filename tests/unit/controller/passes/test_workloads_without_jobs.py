"""Workloads that users or other controllers created without a job: passes over them, as in Kueue."""

from typing import Any

import pytest

from muster.kube import kinds
from muster.objects.meta import rfc3339
from muster.objects.names import JOB_UID_LABEL, KUEUE_GROUP
from tests.simulation.manifests import CHECK, PRIORITIES, ray_job
from tests.unit.controller.builders import (
    NOW_MS,
    Body,
    condition,
    pod,
    request,
    workload_body,
    workload_without_job,
)
from tests.unit.controller.passes.pass_cases import (
    DEV,
    EVICTED,
    FINALIZER,
    HOLDS,
    LEAVING,
    NO_REQUESTS,
    PROD,
    RUNS,
    Case,
    check_writes,
    child,
    cluster,
    dev,
    of_dev,
    of_prod,
    prod,
)

BY_ITS_CREATOR = "Evicted by the test runner"
OTHER = {"apiVersion": "example.com/v1", "kind": "Batch", "name": "nightly", "uid": "b", "controller": True}
OF_JOB: dict[str, Any] = {"labels": {JOB_UID_LABEL: "uid-dev"}}
BATCH_POD = f"uid-{DEV}"


def batch(*true: str, **fields: Any) -> Body:
    return workload_without_job("batch", *true, **fields)


def unset(reason: str, *, leftovers: bool = False, **fields: Any) -> Body:
    """Returns it evicted for this reason, after its creator unset its reservation as Kueue's runner does:
    with `leftovers` it left the admission, and Admitted as it was."""
    body = batch(*RUNS) if leftovers else batch()
    body["status"]["conditions"] = [
        condition("QuotaReserved", False, "Pending", BY_ITS_CREATOR),
        condition("Admitted", leftovers),
        condition("Evicted", reason=reason, message="it was in the way"),
    ]
    body["status"] |= fields
    return body


def lost(*true: str, **meta: Any) -> Body:
    """Returns the Workload of the RayJob dev without its owner reference."""
    meta = {"ownerReferences": [], **FINALIZER, **meta}
    return workload_body(ray_job("dev"), *true, **meta)


def taken(*true: str, **meta: Any) -> Body:
    """Returns the Workload of the RayJob dev without any mark of its job."""
    return lost(*true, labels={}, **meta)


def of_class(value: int, *true: str) -> Body:
    body = batch(*true, priority=value)
    body["spec"]["priorityClassRef"] = {
        "group": KUEUE_GROUP,
        "kind": "WorkloadPriorityClass",
        "name": "dev-priority",
    }
    return body


def inactive(*true: str) -> Body:
    body = batch(*true)
    body["spec"]["active"] = False
    return body


CASES: dict[str, Case] = {
    "a workload that fits is admitted": Case(cluster(batch()), then=["batch: QuotaReserved Admitted"]),
    "one of another controller is admitted": Case(
        cluster(batch(ownerReferences=[OTHER])), then=["batch: QuotaReserved Admitted"]
    ),
    "one of another controller that labels it as Kueue does is admitted": Case(
        cluster(batch(ownerReferences=[OTHER], **OF_JOB)), then=["batch: QuotaReserved Admitted"]
    ),
    "one with a check gets quota first": Case(
        cluster(batch(), check=True), then=["batch: QuotaReserved check=Pending"]
    ),
    "one without a LocalQueue waits": Case(
        {**cluster(batch()), kinds.LOCAL_QUEUES: []}, waits=["batch: waits=Misconfigured"]
    ),
    "a deactivated one waits": Case(cluster(inactive()), waits=["batch: waits=Suspended"]),
    "an admitted one is not changed": Case(cluster(batch(*RUNS))),
    "it competes with jobs": Case(
        cluster(batch(priority=5000), prod(), of_prod()),
        then=["batch: QuotaReserved Admitted"],
        waits=[f"{PROD}: waits=WaitingForQuota"],
    ),
    "a job preempts it": Case(
        cluster(batch(*RUNS), prod(), of_prod()),
        ["batch: QuotaReserved Admitted Evicted Preempted"],
        waits=[f"{PROD}: waits=WaitingForPreemptedWorkloads"],
    ),
    "it preempts a job": Case(
        cluster(batch(priority=5000), dev("Running", suspend=False), of_dev(*RUNS, "PodsReady")),
        [f"{DEV}: QuotaReserved Admitted PodsReady Evicted Preempted"],
        waits=["batch: waits=WaitingForPreemptedWorkloads"],
    ),
    "an evicted one keeps its quota until its creator unsets it": Case(
        cluster(batch(*EVICTED), prod(), of_prod()), waits=[f"{PROD}: waits=WaitingForPreemptedWorkloads"]
    ),
    "a preempted one without quota is queued again": Case(
        cluster(unset("Preempted"), prod(), of_prod()),
        ["batch: Evicted Requeued waits=WaitingForQuota"],
        [f"{PROD}: QuotaReserved Admitted"],
    ),
    "a preempted one is queued again, whatever its creator left": Case(
        cluster(unset("Preempted", leftovers=True), prod(), of_prod()),
        ["batch: Evicted Requeued waits=WaitingForQuota"],
        [f"{PROD}: QuotaReserved Admitted"],
    ),
    "a workload that its creator left admitted waits for its check again": Case(
        cluster(unset("Preempted", leftovers=True), check=True),
        then=["batch: QuotaReserved Requeued check=Pending"],
    ),
    "a workload that was evicted with a back-off waits for its end": Case(
        cluster(unset("PodsReadyTimeout", requeueState={"count": 1, "requeueAt": rfc3339(NOW_MS + 60_000)})),
        ["batch: Evicted waits=PendingEvaluation"],
    ),
    "a requeued workload is decided on": Case(
        cluster(unset("PodsReadyTimeout", requeueState={"count": 1, "requeueAt": rfc3339(NOW_MS - 60_000)})),
        then=["batch: QuotaReserved Admitted Requeued"],
    ),
    "a finished one releases its quota immediately, and is kept": Case(
        cluster(batch(*RUNS, "Finished"), prod(), of_prod()), then=[f"{PROD}: QuotaReserved Admitted"]
    ),
    "a finished one loses Kueue's finalizer": Case(
        cluster(batch(*RUNS, "Finished", **FINALIZER)), ["patch batch {'finalizers': []}"]
    ),
    "a deleted one loses Kueue's finalizer": Case(
        cluster(batch(*RUNS, **LEAVING, **FINALIZER)), ["patch batch {'finalizers': []}"]
    ),
    "a deactivated one is evicted": Case(cluster(inactive(*RUNS)), ["batch: QuotaReserved Admitted Evicted"]),
    "capacity is requested for it": Case(
        cluster(
            batch(*HOLDS)
            | {
                "status": {
                    **batch(*HOLDS)["status"],
                    "admissionChecks": [
                        {
                            "name": CHECK,
                            "state": "Pending",
                            "message": "",
                            "lastTransitionTime": rfc3339(NOW_MS),
                        }
                    ],
                }
            },
            check=True,
        ),
        [
            "create PodTemplate ppt-batch-queued-provisioning-1-main",
            "create ProvisioningRequest batch-queued-provisioning-1",
        ],
    ),
    "the capacity of an evicted one is released": Case(
        cluster(batch(*EVICTED), request(owner="uid-batch")), NO_REQUESTS
    ),
    "it is not admitted again before that": Case(
        cluster(batch(), request(owner="uid-batch")), NO_REQUESTS, waits=["batch: waits=PendingEvaluation"]
    ),
    "its priority follows its class": Case(
        cluster(of_class(7)),
        [f"patch batch {{'priority': {PRIORITIES['dev-priority']}}}"],
        ["batch: QuotaReserved Admitted"],
    ),
    # a job's Workload that lost its job's marks
    "a job's Workload without its owner reference remains its job's": Case(
        cluster(dev("Running", suspend=False), lost(*RUNS, "PodsReady"))
    ),
    "and stops its job": Case(
        cluster(dev("Running", suspend=False), lost(*EVICTED, "PodsReady")), stops=["stop dev"]
    ),
    "and is deleted if its job is deleted": Case(cluster(lost(*RUNS)), [f"delete Workload {DEV}"]),
    "and gets no quota then": Case(
        cluster(lost()), [f"delete Workload {DEV}"], waits=[f"{DEV}: waits=Misconfigured"]
    ),
    "and keeps its finalizer then while its pods run": Case(
        cluster(lost(*RUNS, **LEAVING), child(), pod(BATCH_POD)),
    ),
    "a job's Workload without any mark keeps its quota while it is finished and its pods run": Case(
        cluster(taken(*RUNS, "Finished"), pod(BATCH_POD), prod(), of_prod()),
        ["delete Pod pod"],
        waits=[f"{PROD}: waits=WaitingForPreemptedWorkloads"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_writes_for_workloads_without_a_job(name: str) -> None:
    check_writes(CASES[name])
