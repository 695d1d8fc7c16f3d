"""`muster try`: whether a job fits now, before it is submitted."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from muster.cluster.cluster_state import ClusterState
from muster.kube import kinds
from muster.live.observed import ObservationError
from muster.live.submitted import submitted
from muster.live.verdict import VerdictKind
from muster.objects.names import DEVICE_CLASSES
from tests.simulation.manifests import (
    cluster_queue,
    local_queue,
    local_stack,
    quotas,
    ray_cluster,
    ray_job,
    ray_service,
    template,
)
from tests.unit.controller.builders import NOW_MS, Body
from tests.unit.live.builders import RAY_JOB, cluster, running, tried, waiting


@dataclass(frozen=True)
class Case:
    answer: VerdictKind
    cluster: ClusterState
    job: Body = field(default_factory=lambda: ray_job("new"))
    message: str = ""
    flavors: dict[str, set[str]] = field(default_factory=dict)
    victims: tuple[str, ...] = ()


ON_L4 = {"head": {"cpu"}, "gpu": {"l4"}, "submitter": {"cpu"}}
DEV, PROD = running(ray_job("dev")), running(ray_job("prod", priority="prod-priority"))
DEV_KEY = f"team-a/{DEV['metadata']['name']}"
STOPPED = [
    cluster_queue("team-a", quotas("cpu", cpu=8, memory="32Gi", gpu=0), stopPolicy="Hold"),
]
LOCAL_STOPPED = [
    {
        "metadata": {"name": "user-queue", "namespace": "team-a"},
        "spec": {"clusterQueue": "team-a", "stopPolicy": "Hold"},
    }
]
ELSEWHERE = [local_queue("team-a", "gone")]


def counting_claims(*workloads: Body) -> ClusterState:
    """Returns a cluster with a template of claims for two GPUs each, which team-a's quota counts."""
    queue, *_ = local_stack()[kinds.CLUSTER_QUEUES]
    queue["metadata"]["annotations"] = {DEVICE_CLASSES: '{"gpu.nvidia.com": "nvidia.com/gpu"}'}
    queue["spec"]["admissionChecksStrategy"] = {}
    requests = [{"name": "gpus", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}]
    metadata = {"name": "two-gpus", "namespace": "team-a"}
    template_of_claims = {"metadata": metadata, "spec": {"spec": {"devices": {"requests": requests}}}}
    return cluster(*workloads, CLUSTER_QUEUES=[queue], RESOURCE_CLAIM_TEMPLATES=[template_of_claims])


def claiming(workers: int) -> Body:
    worker = template("worker", cpu=1)
    worker["spec"]["resourceClaims"] = [{"name": "gpus", "resourceClaimTemplateName": "two-gpus"}]
    body = ray_job("new", workers=workers, worker=worker)
    body["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["rayStartParams"] = {"num-gpus": "2"}
    return body


CASES: dict[str, Case] = {
    "an empty cluster": Case(VerdictKind.FITS, cluster(), flavors=ON_L4),
    "a check makes the nodes later": Case(VerdictKind.FITS, cluster(check=True), flavors=ON_L4),
    "what runs is in the way": Case(
        VerdictKind.WAITS,
        cluster(DEV),
        message="needs 4 nvidia.com/gpu of flavor l4 but ClusterQueue team-a has 0 of 4 left",
    ),
    "it preempts what is less important": Case(
        VerdictKind.PREEMPTS,
        cluster(DEV),
        ray_job("new", priority="prod-priority"),
        flavors=ON_L4,
        victims=(DEV_KEY,),
    ),
    "it does not preempt its equals": Case(
        VerdictKind.WAITS,
        cluster(PROD),
        ray_job("new", priority="prod-priority"),
        message="needs 4 nvidia.com/gpu",
    ),
    "what was queued before goes first": Case(
        VerdictKind.WAITS,
        cluster(waiting(ray_job("before", workers=3), "PendingEvaluation")),
        ray_job("new", workers=2),
        message="needs 2",
    ),
    "what may not be queued does not": Case(
        VerdictKind.FITS, cluster(waiting(ray_job("before"), "Misconfigured")), flavors=ON_L4
    ),
    "it is larger than its queue": Case(
        VerdictKind.NEVER, cluster(), ray_job("new", workers=5), message="can have at most 4"
    ),
    "its pods claim more devices than its queue has": Case(
        VerdictKind.NEVER, counting_claims(), claiming(workers=3), message="can have at most 4"
    ),
    "its pods claim as many devices as its queue has": Case(
        VerdictKind.FITS, counting_claims(), claiming(workers=2), flavors=ON_L4
    ),
    "its pods claim devices that are in use": Case(
        VerdictKind.WAITS,
        counting_claims(running(ray_job("dev", workers=3))),
        claiming(workers=1),
        message="needs 2 nvidia.com/gpu of flavor l4 but ClusterQueue team-a has 1 of 4 left",
    ),
    "its pods request nothing": Case(
        VerdictKind.NEVER,
        cluster(),
        ray_job("new", worker=template("worker")),
        message="requests no resources",
    ),
    "it cannot be suspended": Case(
        VerdictKind.NEVER,
        cluster(),
        ray_job("new", shutdownAfterJobFinishes=False),
        message="shutdownAfterJobFinishes",
    ),
    "its queue is stopped": Case(VerdictKind.WAITS, cluster(CLUSTER_QUEUES=STOPPED), message="is stopped"),
    "its LocalQueue is stopped": Case(
        VerdictKind.WAITS, cluster(LOCAL_QUEUES=LOCAL_STOPPED), message="is stopped"
    ),
    "its queue does not exist": Case(
        VerdictKind.NEVER, cluster(LOCAL_QUEUES=ELSEWHERE), message="'gone', which does not exist"
    ),
    "a RayCluster": Case(
        VerdictKind.FITS,
        cluster(),
        {**ray_cluster("new"), "kind": "RayCluster"},
        flavors={"head": {"cpu"}, "gpu": {"l4"}},
    ),
    "a RayService": Case(
        VerdictKind.FITS,
        cluster(),
        {**ray_service("new"), "kind": "RayService"},
        flavors={"head": {"cpu"}, "gpu": {"l4"}},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_verdict_on_a_job(name: str) -> None:
    case = CASES[name]
    attempt, _, _ = tried(case.job, case.cluster)
    assert attempt.answer == case.answer
    assert case.message in attempt.message
    held = attempt.admission.pod_sets if attempt.admission else ()
    assert {holding.name: set(holding.flavors.values()) for holding in held} == case.flavors
    assert tuple(holding.workload for holding in attempt.preemptions) == case.victims


def unlabelled() -> Body:
    job = ray_job("new")
    return {**job, "metadata": {**job["metadata"], "labels": {}}}


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "not a job": (
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}},
        "apps/v1 Deployment: expected one of Job of batch/v1; JobSet of jobset.x-k8s.io/v1alpha2; "
        "LeaderWorkerSet of leaderworkerset.x-k8s.io/v1; RayCluster, RayJob, RayService of ray.io/v1",
    ),
    "an old version": (
        {**ray_job("x"), "apiVersion": "ray.io/v1alpha1", "kind": "RayJob"},
        "ray.io/v1alpha1 RayJob: expected",
    ),
    "no kind": ({}, "an object without kind: expected"),
    "no name": ({**RAY_JOB, "metadata": {}}, "RayJob without metadata.name"),
    "no queue": ({**RAY_JOB, **unlabelled()}, "RayJob team-a/new: it has no label kueue.x-k8s.io/queue-name"),
    "an unknown queue": (
        {**RAY_JOB, **ray_job("new", queue="gpus")},
        "namespace team-a has no LocalQueue 'gpus' (label kueue.x-k8s.io/queue-name); expected one of: "
        "user-queue",
    ),
    "an unknown namespace": (
        {**RAY_JOB, **ray_job("new", namespace="team-x")},
        "namespace team-x has no LocalQueue 'user-queue' (label kueue.x-k8s.io/queue-name); expected one of: "
        "none",
    ),
    "an unknown class": (
        {**RAY_JOB, **ray_job("new", priority="urgent")},
        "WorkloadPriorityClass 'urgent' (label kueue.x-k8s.io/priority-class) does not exist; expected one "
        "of: dev-priority, prod-priority",
    ),
    "a field of the wrong type": (
        {**RAY_JOB, **ray_job("new", suspend="yes")},
        "RayJob new: Expected `bool`, got `str` - at `$.spec.suspend`",
    ),
    "another operator's": (
        {**RAY_JOB, **ray_job("new", managedBy="kueue.x-k8s.io/multikueue")},
        "spec.managedBy is not",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_manifest_that_is_no_job_of_a_queue(name: str) -> None:
    manifest, message = BAD[name]
    with pytest.raises(ObservationError) as raised:
        submitted(manifest, cluster(), NOW_MS)
    assert message in str(raised.value)


def test_manifest_without_a_namespace_goes_into_the_default_one() -> None:
    job = ray_job("new")
    del job["metadata"]["namespace"]
    verdict = submitted({**RAY_JOB, **job}, cluster(), NOW_MS, "team-a")
    assert verdict.workload.key.startswith("team-a/rayjob-new-")


def test_generated_name_is_enough() -> None:
    job = ray_job("new")
    job["metadata"] = {"generateName": "new-", "namespace": "team-a", "labels": job["metadata"]["labels"]}
    assert submitted({**RAY_JOB, **job}, cluster(), NOW_MS).job.metadata.name == "new-try"


def test_verdict_changes_nothing() -> None:
    of = cluster(DEV)
    before = dict(of.workloads)
    first, _, _ = tried(ray_job("new", priority="prod-priority"), of)
    second, _, _ = tried(ray_job("new", priority="prod-priority"), of)
    assert first == second
    assert dict(of.workloads) == before
