"""Workloads that may not be queued, and the message that gives the reason."""

from typing import Any

import pytest
from msgspec.structs import replace

from muster.cluster import eligibility
from muster.controller.workload import transitions
from muster.kube import kinds
from muster.objects.names import (
    PROVREQ_ANNOTATION_PREFIX,
    REQUIRED_TOPOLOGY,
    SLICE_SIZE,
    SLICE_TOPOLOGY,
    STOP_ANNOTATION,
)
from tests.simulation.manifests import PREEMPTION, cluster_queue, local_queue, quotas, ray_job, template
from tests.unit.controller.builders import (
    NOW_MS,
    Body,
    job,
    limit_range,
    make_cluster,
    read,
    runtime_class,
    workload,
    workload_without_job,
)

Objects = dict[Any, list[Body]]
CPU = quotas("cpu", cpu=8)
HELD = {"stopPolicy": "Hold"}


def queue(**spec: Any) -> Objects:
    return {kinds.CLUSTER_QUEUES: [cluster_queue("team-a", CPU, preemption=PREEMPTION, **spec)]}


def with_toleration() -> Body:
    worker = template("worker", cpu=1)
    worker["spec"]["tolerations"] = [{"key": "spot", "effect": "Sometimes"}]
    return worker


def with_affinity() -> Body:
    worker = template("worker", cpu=1)
    terms = [{"matchExpressions": [{"key": "zone", "operator": "Near"}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    worker["spec"]["affinity"] = {"nodeAffinity": required}
    return worker


def of_class(name: str) -> Body:
    worker = template("worker", cpu=1)
    worker["spec"]["runtimeClassName"] = name
    return worker


def in_slices(size: str) -> Body:
    worker = template("worker", cpu=1)
    slices = {
        REQUIRED_TOPOLOGY: "rack",
        SLICE_TOPOLOGY: "rack",
        SLICE_SIZE: size,
    }
    return {**worker, "metadata": {"annotations": slices}}


# name: (job, changes of its Workload, objects of the platform, reason and message)
PROVREQ = PROVREQ_ANNOTATION_PREFIX


def annotated(annotations: Body) -> Body:
    body = ray_job("dev")
    return {**body, "metadata": {**body["metadata"], "annotations": annotations}}


def local_queues(namespace: str, count: int) -> list[Body]:
    meta = {"namespace": namespace}
    spec = {"clusterQueue": "team-a"}
    return [{"metadata": {**meta, "name": f"queue-{number:04}"}, "spec": spec} for number in range(count)]


REFUSALS: dict[str, tuple[Body, dict[str, Any], Objects, str]] = {
    "unknown queue": (
        ray_job("dev", queue="nowhere"),
        {},
        {},
        "Misconfigured: namespace team-a has no LocalQueue 'nowhere': choose one of user-queue",
    ),
    "unknown queue, in a namespace with thousands": (
        ray_job("dev", queue="nowhere"),
        {},
        {kinds.LOCAL_QUEUES: local_queues("team-b", 10) + local_queues("team-a", 5000)},
        "Misconfigured: namespace team-a has no LocalQueue 'nowhere': choose one of "
        f"{', '.join(f'queue-{number:04}' for number in range(20))} and 4980 more",
    ),
    "no queue in the namespace": (
        ray_job("dev"),
        {},
        {kinds.LOCAL_QUEUES: []},
        "Misconfigured: namespace team-a has no LocalQueue 'user-queue': choose one of none",
    ),
    "a queue to nowhere": (
        ray_job("dev"),
        {},
        {kinds.LOCAL_QUEUES: [local_queue("team-a", "team-c")]},
        "Misconfigured: LocalQueue team-a/user-queue points to ClusterQueue 'team-c', which does not exist",
    ),
    "a queue that can't be read": (
        ray_job("dev"),
        {},
        queue(namespaceSelector={"matchExpressions": [{"key": "team", "operator": "Near"}]}),
        "Misconfigured: ClusterQueue team-a can't admit workloads: ClusterQueue team-a: namespaceSelector: "
        "operator 'Near'; expected one of: In, NotIn, Exists, DoesNotExist",
    ),
    "a check that does not exist": (
        ray_job("dev"),
        {},
        {kinds.CHECKS: []},
        "Misconfigured: ClusterQueue team-a can't admit workloads: AdmissionChecks that do not exist: "
        "queued-provisioning",
    ),
    "a check without its config": (
        ray_job("dev"),
        {},
        {kinds.PROVISIONING_CONFIGS: []},
        "Misconfigured: ClusterQueue team-a can't admit workloads: AdmissionCheck queued-provisioning: "
        "ProvisioningRequestConfig 'queued-provisioning' does not exist",
    ),
    "a queue with usage-based admission": (
        ray_job("dev"),
        {},
        queue(admissionScope={"admissionMode": "UsageBasedAdmissionFairSharing"}),
        "Misconfigured: ClusterQueue team-a can't admit workloads: admissionScope.admissionMode "
        "UsageBasedAdmissionFairSharing is not supported, as the usage of LocalQueues is not recorded: "
        "remove admissionScope",
    ),
    "unknown priority": (
        ray_job("dev", priority="urgent"),
        {},
        {},
        "Misconfigured: WorkloadPriorityClass 'urgent' does not exist: choose one of dev-priority, "
        "prod-priority",
    ),
    "no quantity": (
        ray_job("dev", worker=template("worker", cpu="four")),
        {},
        {},
        "Misconfigured: pod set 'gpu': 'four' is not a quantity of cpu: expected a number with an optional "
        "suffix, such as 500m, 4, 1.5Gi or 2e3",
    ),
    "an invalid taint effect": (
        ray_job("dev", worker=with_toleration()),
        {},
        {},
        "Misconfigured: pod set 'gpu': 'Sometimes' is not a valid TaintEffect",
    ),
    "no operator": (
        ray_job("dev", worker=with_affinity()),
        {},
        {},
        "Misconfigured: pod set 'gpu': Workload of these pods: node affinity of pod set pods: operator "
        "'Near'; expected one of: DoesNotExist, Exists, Gt, In, Lt, NotIn",
    ),
    "slices of zero pods": (
        ray_job("dev", worker=in_slices("0")),
        {},
        {},
        "Misconfigured: pod set 'gpu': Workload of these pods: slices of pod set pods: sizes are [0]; "
        "expected 1 or more",
    ),
    "no requests": (
        ray_job("dev", worker=template("worker")),
        {},
        {},
        "Misconfigured: container 'worker' of pod set 'gpu' requests no resources: set resources.requests, "
        "so that admission can determine whether it fits",
    ),
    "no requests, and a LimitRange of another namespace": (
        ray_job("dev", worker=template("worker")),
        {},
        {kinds.LIMIT_RANGES: [limit_range("team-b", defaultRequest={"cpu": "1"})]},
        "Misconfigured: container 'worker' of pod set 'gpu' requests no resources: set resources.requests, "
        "so that admission can determine whether it fits",
    ),
    "a parameter that is too long": (
        annotated({f"{PROVREQ}note": "x" * 256}),
        {},
        {},
        "Misconfigured: the value of annotation provreq.kueue.x-k8s.io/note has 256 characters; expected at "
        "most 255, as it is a parameter of the ProvisioningRequest",
    ),
    "too many parameters": (
        annotated({f"{PROVREQ}{number}": "x" for number in range(51)}),
        {},
        {},
        "Misconfigured: 51 annotations provreq.kueue.x-k8s.io/… are too many; expected at most 50",
    ),
    "no such RuntimeClass": (
        ray_job("dev", worker=of_class("gvisor")),
        {},
        {},
        "Misconfigured: pod set 'gpu': RuntimeClass 'gvisor' does not exist, so no pod can be created: "
        "remove runtimeClassName, or set it to an existing RuntimeClass",
    ),
    "a spec that Muster refuses": (
        ray_job("dev", clusterSelector={"a": "b"}),
        {},
        {},
        "Misconfigured: spec.clusterSelector uses a cluster that is not suspended with the job: remove it",
    ),
    "deactivated by a user": (
        ray_job("dev"),
        {"active": False},
        {},
        "Suspended: the Workload is deactivated: recreate the job, or ask an administrator to "
        "activate the Workload",
    ),
    "stopped by its user": (
        annotated({STOP_ANNOTATION: "true"}),
        {},
        {},
        "Suspended: the job is stopped by its annotation muster.dev/stop: remove the annotation to queue the "
        "job again",
    ),
    "stopped by its user, and deactivated": (
        annotated({STOP_ANNOTATION: "true"}),
        {"active": False},
        {},
        "Suspended: the Workload is deactivated: recreate the job, or ask an administrator to "
        "activate the Workload",
    ),
    "a stopped LocalQueue": (
        ray_job("dev"),
        {},
        {
            kinds.LOCAL_QUEUES: [
                {**local_queue("team-a", "team-a"), "spec": {"clusterQueue": "team-a", **HELD}}
            ]
        },
        "Suspended: LocalQueue team-a/user-queue is stopped (stopPolicy Hold)",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    body, fields, objects, sentence = REFUSALS[name]
    refusal = eligibility.ineligibility(workload(body, **fields), job(body), make_cluster(objects))
    assert refusal is not None
    assert f"{refusal.reason}: {refusal.message}" == sentence


@pytest.mark.parametrize(
    ("reason", "why"), [("Deactivated", ""), ("DeactivatedDueToAdmissionCheck", " (out of stock)")]
)
def test_a_deactivated_workload_shows_the_cause(reason: str, why: str) -> None:
    gang = workload(ray_job("dev"), active=False)
    away = replace(gang, status=transitions.evict(gang.status, reason, "out of stock", NOW_MS))
    refusal = eligibility.ineligibility(away, job(ray_job("dev")), make_cluster())
    assert refusal is not None
    assert refusal.message.startswith(f"the Workload is deactivated{why}: recreate the job")


def test_a_deactivated_workload_without_a_job_is_activated_again() -> None:
    body = workload_without_job("batch")
    body["spec"]["active"] = False
    refusal = eligibility.ineligibility(read(kinds.WORKLOADS, body), None, make_cluster())
    assert refusal is not None
    assert refusal.message == "the Workload is deactivated: set spec.active of the Workload to true"


# changes of a Workload without a job -> why it may not be queued
WITHOUT_JOB: dict[str, tuple[Body, str]] = {
    "too many parameters": ({"annotations": {f"{PROVREQ}{n}": "" for n in range(51)}}, "51 annotations"),
    "an ordinary one": ({}, ""),
}


def claiming(**claim: str) -> Body:
    worker = template("worker", cpu=1)
    worker["spec"]["resourceClaims"] = [{"name": "gpu", **claim}]
    return worker


ONE_GPU = claiming(resourceClaimTemplateName="one-gpu")
CLAIMS: dict[str, tuple[Body, tuple[str, ...], str]] = {
    "a template that does not exist": (
        ONE_GPU,
        ("team-b/one-gpu", "team-a/two"),
        "pod set 'gpu': namespace team-a has no ResourceClaimTemplate 'one-gpu', so no pod can run: choose "
        "one of two, or ask an administrator to declare it (muster:tenants[].deviceClaims)",
    ),
    "a template that exists": (ONE_GPU, ("team-a/one-gpu",), ""),
    "a ResourceClaim": (
        claiming(resourceClaimName="shared"),
        ("team-a/shared",),
        "pod set 'gpu': claim 'gpu' names ResourceClaim 'shared', whose devices are not in quota",
    ),
    "a claim that names nothing, which dry runs refuse": (claiming(), (), ""),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_claims_need_a_template_of_the_administrator(name: str) -> None:
    worker, templates, why = CLAIMS[name]
    body = ray_job("dev", worker=worker)
    bodies = [
        {"metadata": {"name": key.partition("/")[2], "namespace": key.partition("/")[0], "uid": key}}
        for key in templates
    ]
    cluster = make_cluster({kinds.RESOURCE_CLAIM_TEMPLATES: bodies})
    refusal = eligibility.ineligibility(workload(body), job(body), cluster)
    assert (refusal.message if refusal else "").startswith(why)
    assert (refusal is None) is (not why)


@pytest.mark.parametrize("name", WITHOUT_JOB)
def test_workloads_without_a_job_are_checked(name: str) -> None:
    meta, why = WITHOUT_JOB[name]
    body = read(kinds.WORKLOADS, workload_without_job("batch", **meta))
    refusal = eligibility.ineligibility(body, None, make_cluster())
    assert (refusal.message if refusal else "").startswith(why)
    assert (refusal is None) is (not why)


MAY: dict[str, tuple[Body, Objects]] = {
    "requests of the pod as a whole": (
        ray_job("dev", worker={"spec": {**template("worker")["spec"], "resources": {"limits": {"cpu": 1}}}}),
        {},
    ),
    "a queue without usage-based admission": (
        ray_job("dev"),
        queue(admissionScope={"admissionMode": "NoAdmissionFairSharing"}),
    ),
    "requests from a LimitRange": (
        ray_job("dev", worker=template("worker")),
        {kinds.LIMIT_RANGES: [limit_range(defaultRequest={"cpu": "1"})]},
    ),
    "a RuntimeClass": (ray_job("dev", worker=of_class("gvisor")), {kinds.RUNTIME_CLASSES: [runtime_class()]}),
    "an ordinary job": (ray_job("dev"), {}),
    "no priority": (ray_job("dev", priority=""), {}),
    "a stopped ClusterQueue, which the core reports": (ray_job("dev"), queue(**HELD)),
    "a namespace that the queue does not select, which the core reports": (
        ray_job("dev"),
        queue(namespaceSelector={"matchLabels": {"team": "b"}}),
    ),
}


@pytest.mark.parametrize("name", MAY)
def test_others_may_be_queued(name: str) -> None:
    body, objects = MAY[name]
    assert eligibility.ineligibility(workload(body), job(body), make_cluster(objects)) is None
