"""Tests of what the doctor finds."""

from typing import Any

import msgspec
import pytest

from muster.kube import kinds
from muster.live.doctor import installation, objects
from muster.live.doctor.installation import BINDINGS, POLICIES, RIGHTS, Installation
from muster.objects.coordination import Lease
from muster.objects.meta import Object, rfc3339
from tests.simulation.manifests import cluster_queue, flavor, local_queue, quotas, ray_job
from tests.unit.controller.builders import (
    NOW_MS,
    Body,
    condition,
    make_cluster,
    pod,
    request,
    stored,
    workload_body,
)

POLICY = msgspec.convert({"metadata": {"name": "muster-pods"}}, Object)


def lease(seconds_ago: int, holder: str = "one") -> Lease:
    renewed = rfc3339(NOW_MS - seconds_ago * 1000)
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}
    return msgspec.convert({"metadata": {"name": "muster-controller"}, "spec": spec}, Lease)


SOUND: dict[str, Any] = {
    "now_ms": NOW_MS,
    "denied": (),
    "account": "the controller",
    "policies": (POLICY,),
    "bindings": ("muster-pods",),
    "lease": lease(5),
    "lease_key": "muster-system/muster-controller",
}
INSTALLATIONS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing is wrong": ({}, []),
    "a right that the controller lacks": (
        {"denied": (RIGHTS[0],)},
        ["rights: the controller may not patch rayjobs.ray.io"],
    ),
    "rights that are not known": ({"denied": None}, []),
    "a kind that is not served": (
        {"unread": {"Cohort": "the API server does not serve this kind"}},
        ["kinds: Cohort the API server does not serve this kind"],
    ),
    "an optional kind that is not served": (
        {"unread": {"ProvisioningRequest": "the API server does not serve this kind"}},
        [],
    ),
    "a kind of job that is not installed": (
        {"unread": {"JobSet": "the API server does not serve this kind"}},
        [],
    ),
    "a kind that the user may not list": (
        {"unread": {"RayJob": "you may not list rayjobs.ray.io"}},
        ["rights: RayJob you may not list rayjobs.ray.io"],
    ),
    "no policies": (
        {"policies": (), "bindings": ()},
        [
            "policies: ValidatingAdmissionPolicy muster-… none exist: jobs can start without quota, and "
            "pods can claim the quota of other jobs"
        ],
    ),
    "policies that the user may not list": (
        {"policies": (), "unread": {str(POLICIES): "you may not list policies"}},
        ["rights: ValidatingAdmissionPolicy you may not list policies"],
    ),
    "bindings that the user may not list": (
        {"bindings": (), "unread": {str(BINDINGS): "you may not list bindings"}},
        ["rights: ValidatingAdmissionPolicyBinding you may not list bindings"],
    ),
    "a policy without a binding": (
        {"bindings": ()},
        ["policies: ValidatingAdmissionPolicy muster-pods has no binding, so it is not enforced"],
    ),
    "no lease": (
        {"lease": None},
        [
            "lease: Lease muster-system/muster-controller has no holder, so nothing is admitted",
        ],
    ),
    "a released lease": (
        {"lease": lease(5, "")},
        [
            "lease: Lease muster-system/muster-controller has no holder, so nothing is admitted",
        ],
    ),
    "a lease that is not renewed": (
        {"lease": lease(40)},
        ["lease: Lease muster-system/muster-controller was last renewed 40 s ago by one"],
    ),
    "a replica without events": (
        {"unready": {"muster-system/a": "no event for more than 50 s: pods 70 s"}},
        ["watches: Pod muster-system/a is not ready: no event for more than 50 s: pods 70 s"],
    ),
}


@pytest.mark.parametrize("name", INSTALLATIONS)
def test_faults_of_the_installation(name: str) -> None:
    changes, expected = INSTALLATIONS[name]
    findings_now = list(installation.findings(Installation(**{**SOUND, **changes})))
    assert [f"{finding.check}: {finding.subject} {finding.fault}" for finding in findings_now] == expected
    assert all(finding.remedy for finding in findings_now)


ACTIVE = {"status": {"conditions": [condition("Active")]}}
INACTIVE = {
    "status": {"conditions": [condition("Active", status=False, reason="FlavorNotFound", message="no l4")]}
}
QUEUE = stored({**cluster_queue("team-a", quotas("cpu", cpu=8)), **ACTIVE})
LOCAL = stored({**local_queue("team-a", "team-a"), **ACTIVE})
JOB = stored(ray_job("dev"))
NEW, OLD = rfc3339(NOW_MS - 10_000), rfc3339(NOW_MS - 70_000)


def workload(*true: str, created: str = OLD, **fields: Any) -> Body:
    return workload_body(ray_job("dev"), *true, creationTimestamp=created, **fields)


def blocked() -> Body:
    body = workload("QuotaReserved")
    body["status"]["conditions"].append(
        condition("SuspensionBlocked", reason="Finalizers", message="it stays")
    )
    return body


def sized(annotation: str) -> Body:
    return stored(flavor("l4"), annotations={"muster.dev/node-sizes": annotation})


CLUSTERS: dict[str, tuple[dict[Any, list[Body]], list[str]]] = {
    "nothing is wrong": ({kinds.WORKLOADS: [workload("QuotaReserved")], kinds.RAY_JOBS: [JOB]}, []),
    "a queue that can admit nothing": (
        {kinds.CLUSTER_QUEUES: [{**QUEUE, **INACTIVE}]},
        ["queues: ClusterQueue team-a cannot admit workloads: no l4"],
    ),
    "a queue without a condition": (
        {kinds.CLUSTER_QUEUES: [{**QUEUE, "status": {}}]},
        ["queues: ClusterQueue team-a has no condition Active: no controller has reconciled it"],
    ),
    "a stopped queue": (
        {kinds.CLUSTER_QUEUES: [{**QUEUE, "spec": {**QUEUE["spec"], "stopPolicy": "Hold"}}]},
        ["queues: ClusterQueue team-a is stopped (stopPolicy Hold)"],
    ),
    "a stopped LocalQueue": (
        {kinds.LOCAL_QUEUES: [{**LOCAL, "spec": {"clusterQueue": "team-a", "stopPolicy": "HoldAndDrain"}}]},
        ["queues: LocalQueue team-a/user-queue is stopped (stopPolicy HoldAndDrain)"],
    ),
    "a flavor with sizes of nodes": ({kinds.FLAVORS: [sized('[{"cpu": "8"}]')]}, []),
    "a flavor with sizes that are no quantities": (
        {kinds.FLAVORS: [sized('[{"cpu": "many"}]')]},
        [
            "flavors: ResourceFlavor l4 has an invalid annotation muster.dev/node-sizes, so pod "
            "sizes are not checked: 'many' is not a quantity of cpu: expected a number with an optional "
            "suffix, such as 500m, 4, 1.5Gi or 2e3"
        ],
    ),
    "a cohort with an unreadable budget": (
        {kinds.COHORTS: [stored({"metadata": {"name": "ml"}}, annotations={"muster.dev/budgets": "[0]"})]},
        [
            "cohorts: Cohort ml is invalid, so its budgets do not count: annotation muster.dev/budgets: "
            "Expected `object`, got `int` - at `$[0]`"
        ],
    ),
    "a workload that was not examined": (
        {kinds.WORKLOADS: [workload()], kinds.RAY_JOBS: [JOB]},
        ["statuses: Workload team-a/rayjob-dev-0b2fb has no condition after 70 s"],
    ),
    "a new workload": ({kinds.WORKLOADS: [workload(created=NEW)], kinds.RAY_JOBS: [JOB]}, []),
    "a gang that does not stop": (
        {kinds.WORKLOADS: [blocked()], kinds.RAY_JOBS: [JOB]},
        ["statuses: Workload team-a/rayjob-dev-0b2fb it stays"],
    ),
    "a workload without its job": (
        {kinds.WORKLOADS: [workload("QuotaReserved")]},
        ["orphans: Workload team-a/rayjob-dev-0b2fb belongs to a deleted job"],
    ),
    "a request without its workload": (
        {kinds.PROVISIONING_REQUESTS: [request(name="r", owner="gone", creationTimestamp=OLD)]},
        ["orphans: ProvisioningRequest team-a/r belongs to a deleted Workload, and may hold nodes"],
    ),
    "a new request": (
        {kinds.PROVISIONING_REQUESTS: [request(name="r", owner="gone", creationTimestamp=NEW)]},
        [],
    ),
    "a pod without its workload": (
        {kinds.PODS: [pod("gone", creationTimestamp=OLD)]},
        ["orphans: Pod team-a/pod runs for a deleted Workload, without quota"],
    ),
    "a pod that has ended": ({kinds.PODS: [pod("gone", phase="Failed", creationTimestamp=OLD)]}, []),
}


@pytest.mark.parametrize("name", CLUSTERS)
def test_faults_of_objects(name: str) -> None:
    changes, expected = CLUSTERS[name]
    bodies = {kinds.CLUSTER_QUEUES: [QUEUE], kinds.LOCAL_QUEUES: [LOCAL], **changes}
    findings_now = list(objects.findings(make_cluster(bodies), NOW_MS))
    assert [f"{finding.check}: {finding.subject} {finding.fault}" for finding in findings_now] == expected
    assert all(finding.remedy for finding in findings_now)
