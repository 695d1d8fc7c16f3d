"""Gangs: their size, whether they can be admitted, and the state of their operator."""

import json
from functools import partial
from typing import Any

import pytest

from muster.objects.ray import VERSION_ANNOTATION
from tests.simulation.manifests import ray_cluster, ray_cluster_spec, ray_job, ray_service, template
from tests.unit.controller.builders import Body, job, stored

OWNED = {"ownerReferences": [{"uid": "uid-of-a-rayjob", "controller": True}]}


def with_group(spec: Body | None = None, **group: Any) -> Body:
    body = ray_job("dev", **(spec or {}))
    body["spec"]["rayClusterSpec"]["workerGroupSpecs"][0] |= group
    return body


GANGS: dict[str, tuple[Body, dict[str, int]]] = {
    "RayJob": (ray_job("dev"), {"head": 1, "gpu": 4, "submitter": 1}),
    "HTTPMode": (ray_job("dev", submissionMode="HTTPMode"), {"head": 1, "gpu": 4}),
    "several hosts": (with_group(replicas=2, numOfHosts=4), {"head": 1, "gpu": 8, "submitter": 1}),
    "at least the minimum": (with_group(replicas=1, minReplicas=3), {"head": 1, "gpu": 3, "submitter": 1}),
    "at most the maximum": (with_group(maxReplicas=2), {"head": 1, "gpu": 2, "submitter": 1}),
    "a suspended group": (with_group(suspend=True), {"head": 1, "gpu": 0, "submitter": 1}),
    "RayCluster": (ray_cluster("notebook"), {"head": 1, "gpu": 2}),
    "RayService": (ray_service("llm"), {"head": 1, "gpu": 2}),
}


@pytest.mark.parametrize("name", GANGS)
def test_pod_sets_and_their_counts(name: str) -> None:
    body, expected = GANGS[name]
    assert {p.pod_set: p.count for p in job(body).pod_set_templates} == expected


POINTERS = {
    "RayJob": (("/spec/suspend",), "/spec/rayClusterSpec/headGroupSpec/template"),
    "RayCluster": (("/spec/suspend",), "/spec/headGroupSpec/template"),
    "RayService": (
        ("/spec/rayClusterConfig/suspend", "/spec/suspend"),
        "/spec/rayClusterConfig/headGroupSpec/template",
    ),
}


@pytest.mark.parametrize("name", POINTERS)
def test_pointers_to_suspend_and_templates_exist(name: str) -> None:
    parsed_job = job(GANGS[name][0])
    assert parsed_job.suspended
    assert (parsed_job.suspend_pointers, parsed_job.pod_set_templates[0].pointer) == POINTERS[name]


def test_the_default_submitter() -> None:
    """The submitter has the head's image and KubeRay's resources, and is not in the job yet."""
    place = job(ray_job("dev")).pod_set_templates[-1]
    assert (place.pod_set, place.pointer, place.present) == ("submitter", "/spec/submitterPodTemplate", False)
    container = {
        "name": "ray-job-submitter",
        "image": "ray",
        "resources": {
            "limits": {"cpu": "1", "memory": "1Gi"},
            "requests": {"cpu": "500m", "memory": "200Mi"},
        },
    }
    expected = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    assert json.loads(bytes(place.template)) == expected


def test_the_users_submitter() -> None:
    place = job(ray_job("dev", submitterPodTemplate=template("mine", cpu=2))).pod_set_templates[-1]
    assert place.present
    assert b"mine" in bytes(place.template)


SLICES = {"kueue.x-k8s.io/podset-slice-required-topology": "rack", "kueue.x-k8s.io/podset-slice-size": "2"}
SLICED = {**template("worker", gpu=1), "metadata": {"annotations": SLICES}}
GROUP = {
    "kueue.x-k8s.io/podset-required-topology": "rack",
    "kueue.x-k8s.io/podset-group-name": "group",
}
GROUPED = {**template("worker", gpu=1), "metadata": {"annotations": GROUP}}
AUTOSCALED_SLICES = (
    "spec.rayClusterSpec.enableInTreeAutoscaling is on, but a gang whose pods request slices or groups of "
    "pod sets in a topology is admitted with a fixed size: turn it off, or remove these annotations from "
    "the pod templates"
)
TWO_CLUSTERS = (
    "KubeRay upgrades a RayService with a second cluster (strategy {}), but the gang has quota for one: set "
    "spec.upgradeStrategy.type to None. Upgrade in place, or with a RayService of another name, which waits "
    "for its own quota while this one serves"
)


def with_ready_condition(
    service: Body, reason: str = "", message: str = "", *, ready: str = "False", observed: int = 0
) -> Body:
    """Returns a RayService with its Ready condition; `seen` is its observedGeneration."""
    conditions = [{"type": "Ready", "status": ready, "reason": reason, "message": message}]
    meta = {**service["metadata"], "generation": 1}
    status = {"conditions": conditions, "observedGeneration": observed}
    return {**service, "metadata": meta, "status": status}


REFUSALS: dict[str, tuple[Body, str]] = {
    "not shut down": (
        ray_job("dev", shutdownAfterJobFinishes=False),
        "KubeRay suspends a RayJob only with spec.shutdownAfterJobFinishes: true: set it and recreate the "
        "RayJob",
    ),
    "on an existing cluster": (
        ray_job("dev", clusterSelector={"ray.io/cluster": "mine"}),
        "spec.clusterSelector uses a cluster that is not suspended with the job: remove it",
    ),
    "deletion rules": (
        ray_job("dev", deletionStrategy={"deletionRules": [{"policy": "DeleteCluster"}]}),
        "spec.deletionStrategy.deletionRules can't be combined with suspension: remove the rules",
    ),
    "refused by KubeRay": (
        {
            **ray_job("dev"),
            "status": {"jobDeploymentStatus": "ValidationFailed", "message": "backoffLimit is negative"},
        },
        "the RayJob was rejected by KubeRay (backoffLimit is negative): correct and recreate it",
    ),
    "no containers": (
        ray_job("dev", worker={"spec": {"containers": []}}),
        "pod set 'gpu' has no containers",
    ),
    "autoscaling of slices in a topology": (
        ray_job("dev", rayClusterSpec={**ray_cluster_spec(2, SLICED), "enableInTreeAutoscaling": True}),
        AUTOSCALED_SLICES,
    ),
    "autoscaling of groups of pod sets in a topology": (
        ray_job("dev", rayClusterSpec={**ray_cluster_spec(2, GROUPED), "enableInTreeAutoscaling": True}),
        AUTOSCALED_SLICES,
    ),
    "upgrades by a second cluster, the default": (
        ray_service("llm", upgradeStrategy={}),
        TWO_CLUSTERS.format("NewCluster"),
    ),
    "upgrades by a second cluster": (
        ray_service("llm", upgradeStrategy={"type": "NewCluster"}),
        TWO_CLUSTERS.format("NewCluster"),
    ),
    "upgrades by a second cluster, step by step": (
        ray_service("llm", upgradeStrategy={"type": "NewClusterWithIncrementalUpgrade"}),
        TWO_CLUSTERS.format("NewClusterWithIncrementalUpgrade"),
    ),
    "a RayService refused by KubeRay": (
        with_ready_condition(ray_service("llm"), "ValidationFailed", "its name is too long"),
        "KubeRay rejected the RayService (its name is too long): correct and recreate it",
    ),
    "a worker group named head": (
        with_group(groupName="head"),
        "two pod sets are named 'head': give each worker group a unique name other than 'head'",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_jobs_that_are_refused(name: str) -> None:
    body, sentence = REFUSALS[name]
    assert job(body).ineligibility == sentence


@pytest.mark.parametrize("name", GANGS)
def test_other_jobs_are_not_refused(name: str) -> None:
    assert job(GANGS[name][0]).ineligibility is None


def test_a_corrected_ray_service_is_not_refused() -> None:
    """KubeRay accepts it, but the condition keeps its reason until the service is ready."""
    assert job(with_ready_condition(ray_service("llm"), "ValidationFailed", observed=1)).ineligibility is None


def owned_by(version: str, kind: str) -> dict[str, Any]:
    owner = {"apiVersion": version, "kind": kind, "name": "nightly", "uid": "1", "controller": True}
    return {"ownerReferences": [owner]}


MANAGED: dict[str, tuple[Body, dict[str, Any], bool]] = {
    "in a queue": (ray_job("dev"), {}, True),
    "in none": (ray_job("dev", queue=""), {}, False),
    "left to MultiKueue": (ray_job("dev", managedBy="kueue.x-k8s.io/multikueue"), {}, False),
    "a RayCluster": (ray_cluster("notebook"), {}, True),
    "the RayCluster of a RayJob": (ray_cluster("notebook"), OWNED, False),
    "a RayJob of a RayCronJob": (ray_job("dev"), owned_by("ray.io/v1", "RayCronJob"), True),
    "a RayJob of a RayCronJob, in no queue": (
        ray_job("dev", queue=""),
        owned_by("ray.io/v1", "RayCronJob"),
        False,
    ),
    "a RayJob of another group's RayCronJob": (
        ray_job("dev"),
        owned_by("example.com/v1", "RayCronJob"),
        False,
    ),
    "a RayJob of a CronJob": (ray_job("dev"), owned_by("batch/v1", "CronJob"), False),
    "a RayCluster of a RayCronJob": (
        ray_cluster("notebook"),
        owned_by("ray.io/v1", "RayCronJob"),
        False,
    ),
    "a RayService": (ray_service("llm"), {}, True),
    "a RayService left to MultiKueue": (
        ray_service("llm", managedBy="kueue.x-k8s.io/multikueue"),
        {},
        False,
    ),
}


@pytest.mark.parametrize("name", MANAGED)
def test_whether_muster_manages_a_job(name: str) -> None:
    body, meta, expected = MANAGED[name]
    assert job(stored(body), **meta).managed is expected


JOB_STATES = {
    # state: (stopped, running, succeeded)
    "": (True, False, None),
    "Initializing": (False, False, None),
    "Running": (False, True, None),
    "Suspending": (False, False, None),
    "Suspended": (True, False, None),
    "Retrying": (False, False, None),
    "Waiting": (False, False, None),
    "ValidationFailed": (True, False, None),
    "Complete": (False, False, True),
    "Failed": (False, False, False),
}


@pytest.mark.parametrize("state", JOB_STATES)
def test_states_of_a_ray_job(state: str) -> None:
    job_status = {"Complete": "SUCCEEDED", "Failed": "FAILED"}.get(state, "")
    parsed_job = job({**ray_job("dev"), "status": {"jobDeploymentStatus": state, "jobStatus": job_status}})
    succeeded = parsed_job.outcome.succeeded if parsed_job.outcome else None
    assert (parsed_job.reported_stopped, parsed_job.running, succeeded) == JOB_STATES[state]


def test_ray_job_that_has_ended_stays_so_when_its_spec_is_edited_to_what_kuberay_refuses() -> None:
    status = {"jobDeploymentStatus": "ValidationFailed", "jobStatus": "FAILED", "message": "minReplicas"}
    parsed_job = job({**ray_job("dev"), "status": {**status, "endTime": "2027-01-15T08:00:00Z"}})
    assert parsed_job.outcome is not None
    assert not parsed_job.outcome.succeeded
    assert job({**ray_job("dev"), "status": status}).outcome is None


SUSPENDED = [{"type": "RayClusterSuspended", "status": "True"}]
RESUMED = [{"type": "RayClusterSuspended", "status": "False"}]
CLUSTER_STATES: dict[str, tuple[Body, tuple[bool, bool]]] = {
    "without a status": ({}, (True, False)),
    "ready": ({"state": "ready", "conditions": RESUMED}, (False, True)),
    "suspended": ({"state": "suspended", "conditions": SUSPENDED}, (True, False)),
    "resumed, its pods not ready yet": ({"state": "suspended", "conditions": RESUMED}, (False, False)),
    "suspended, without conditions": ({"state": "suspended"}, (True, False)),
}


@pytest.mark.parametrize("name", CLUSTER_STATES)
def test_states_of_a_ray_cluster(name: str) -> None:
    status, expected = CLUSTER_STATES[name]
    parsed_job = job({**ray_cluster("notebook"), "status": status})
    assert (parsed_job.reported_stopped, parsed_job.running) == expected
    assert parsed_job.outcome is None


UNREPORTED = {
    # name: (suspend, generation, whether it is certain to create no pods)
    "created suspended": (True, 1, True),
    "created to run": (False, 1, False),
    "resumed": (False, 2, False),
    "suspended since, while KubeRay may be creating its pods": (True, 2, False),
    "resumed and suspended again": (True, 3, False),
}


@pytest.mark.parametrize("name", UNREPORTED)
def test_a_ray_cluster_without_a_status_is_stopped_only_if_it_never_ran(name: str) -> None:
    suspend, generation, expected = UNREPORTED[name]
    assert job(cluster(suspend=suspend), generation=generation).reported_stopped is expected


def cluster(*, suspend: bool, **status: Any) -> Body:
    body = ray_cluster("llm-1")
    return {**body, "spec": {**body["spec"], "suspend": suspend}, "status": status}


AT_REST = cluster(suspend=True, state="suspended", conditions=SUSPENDED)
STOPPING = cluster(
    suspend=True, state="ready", conditions=[{"type": "RayClusterSuspending", "status": "True"}]
)
STARTING = cluster(suspend=False, state="suspended", conditions=RESUMED)
READY = cluster(suspend=False, state="ready", conditions=RESUMED)
SERVICE_STATES: dict[str, tuple[tuple[Body, ...], tuple[bool, bool, bool]]] = {
    # its clusters: (stopped, running, its start was seen)
    "no cluster yet": ((), (True, False, False)),
    "suspended": ((AT_REST,), (True, False, False)),
    "stopping": ((STOPPING,), (False, False, False)),
    "starting": ((STARTING,), (False, False, True)),
    "serving": ((READY,), (False, True, True)),
    "an old cluster next to the new one": ((AT_REST, STOPPING), (False, False, False)),
}


@pytest.mark.parametrize("name", SERVICE_STATES)
def test_states_of_a_ray_service(name: str) -> None:
    """Read from its clusters alone: its own Ready may be stale."""
    clusters, expected = SERVICE_STATES[name]
    started = with_ready_condition(ray_service("llm"), "NonZeroServeEndpoints", ready="True")
    started["spec"]["rayClusterConfig"]["suspend"] = False
    parsed_job = job(started, *clusters)
    assert (parsed_job.reported_stopped, parsed_job.running, parsed_job.start_observed) == expected
    assert parsed_job.outcome is None


def by_version(version: str, cluster: Body) -> Body:
    """Returns the RayCluster as this version of KubeRay annotates it."""
    return {**cluster, "metadata": {**cluster["metadata"], "annotations": {VERSION_ANNOTATION: version}}}


OLD, NEW = partial(by_version, "v1.6.2"), partial(by_version, "v1.7.0")
SUSPENSIONS: dict[str, tuple[bool, bool, tuple[Body, ...], tuple[bool, bool, bool]]] = {
    # name: (rayClusterConfig.suspend, suspend, clusters, (suspended, stopped, ready to start))
    "1.6, suspended": (True, False, (OLD(AT_REST),), (True, True, True)),
    "1.6, being suspended": (True, False, (OLD(READY),), (True, False, True)),
    "1.7, suspended": (True, True, (), (True, True, True)),
    "1.7, its cluster is being deleted": (True, True, (NEW(READY),), (True, False, False)),
    "1.7, its cluster was stopped by Muster": (True, True, (NEW(AT_REST),), (True, True, False)),
    "1.7, by spec.suspend alone": (False, True, (), (True, True, True)),
    "1.7, by the field for new clusters alone": (True, False, (NEW(READY),), (False, False, True)),
    "upgraded from 1.6 while it waited": (True, False, (NEW(AT_REST),), (False, True, True)),
    "no cluster yet": (True, False, (), (True, True, True)),
    "running": (False, False, (NEW(READY),), (False, False, True)),
}


@pytest.mark.parametrize("name", SUSPENSIONS)
def test_suspension_of_a_ray_service_in_both_versions_of_kuberay(name: str) -> None:
    in_config, in_spec, clusters, expected = SUSPENSIONS[name]
    service = ray_service("llm", suspend=in_spec)
    service["spec"]["rayClusterConfig"]["suspend"] = in_config
    parsed_job = job(service, *clusters)
    assert (parsed_job.suspended, parsed_job.reported_stopped, parsed_job.ready_to_start) == expected


def test_a_ray_service_whose_cluster_is_up_may_not_serve_yet() -> None:
    assert not job(with_ready_condition(ray_service("llm"), "Initializing"), READY).running


def test_a_ray_service_that_missed_its_time_has_failed() -> None:
    parsed_job = job(with_ready_condition(ray_service("llm"), "InitializingTimeout", "not ready within 5m"))
    assert parsed_job.outcome is not None
    assert (parsed_job.outcome.succeeded, parsed_job.outcome.message) == (False, "not ready within 5m")
