"""Gangs: their size, whether they can be admitted at all, and how far their operator is."""

import json
from typing import Any

import pytest

from tests.simulation.manifests import ray_cluster, ray_cluster_spec, ray_job, template
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
}


@pytest.mark.parametrize("name", GANGS)
def test_gang(name: str) -> None:
    body, wanted = GANGS[name]
    assert {p.pod_set: p.count for p in job(body).places} == wanted


def test_the_submitter_that_kuberay_makes() -> None:
    """With the head's image, and what KubeRay gives it; it is not in the job yet."""
    place = job(ray_job("dev")).places[-1]
    assert (place.pod_set, place.pointer, place.present) == ("submitter", "/spec/submitterPodTemplate", False)
    container = {
        "name": "ray-job-submitter",
        "image": "ray",
        "resources": {
            "limits": {"cpu": "1", "memory": "1Gi"},
            "requests": {"cpu": "500m", "memory": "200Mi"},
        },
    }
    wanted = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    assert json.loads(bytes(place.template)) == wanted


def test_the_submitter_of_the_user() -> None:
    place = job(ray_job("dev", submitterPodTemplate=template("mine", cpu=2))).places[-1]
    assert place.present
    assert b"mine" in bytes(place.template)


NO_REQUESTS = (
    "container 'worker' of pod set 'gpu' asks for no resources: set resources.requests, or nobody can "
)
REFUSALS: dict[str, tuple[Body, str]] = {
    "not shut down": (
        ray_job("dev", shutdownAfterJobFinishes=False),
        "KubeRay suspends a RayJob only with spec.shutdownAfterJobFinishes: true: set it and create the "
        "RayJob again",
    ),
    "on an existing cluster": (
        ray_job("dev", clusterSelector={"ray.io/cluster": "mine"}),
        "spec.clusterSelector puts it on a cluster that is not suspended with it: remove it",
    ),
    "rules of deletion": (
        ray_job("dev", deletionStrategy={"deletionRules": [{"policy": "DeleteCluster"}]}),
        "spec.deletionStrategy.deletionRules can't be combined with suspension: remove the rules",
    ),
    "refused by KubeRay": (
        {
            **ray_job("dev"),
            "status": {"jobDeploymentStatus": "ValidationFailed", "message": "backoffLimit is negative"},
        },
        "KubeRay refused the RayJob (backoffLimit is negative): mend it and create it again",
    ),
    "no requests": (
        ray_job("dev", worker=template("worker")),
        NO_REQUESTS + "tell whether it fits",
    ),
    "no containers": (
        ray_job("dev", worker={"spec": {"containers": []}}),
        "pod set 'gpu' has no containers",
    ),
    "autoscaling": (
        ray_job("dev", rayClusterSpec={**ray_cluster_spec(2), "enableInTreeAutoscaling": True}),
        "spec.enableInTreeAutoscaling is on, but a gang is admitted with a fixed size: turn it off, or take "
        "the queue label away to run it outside the queues",
    ),
    "a worker group named head": (
        with_group(groupName="head"),
        "two pod sets are named 'head': give each worker group a name of its own, not 'head'",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    body, sentence = REFUSALS[name]
    assert job(body).refusal == sentence


@pytest.mark.parametrize("name", GANGS)
def test_the_others_are_not_refused(name: str) -> None:
    assert job(GANGS[name][0]).refusal is None


MANAGED: dict[str, tuple[Body, dict[str, Any], bool]] = {
    "in a queue": (ray_job("dev"), {}, True),
    "in none": (ray_job("dev", queue=""), {}, False),
    "left to MultiKueue": (ray_job("dev", managedBy="kueue.x-k8s.io/multikueue"), {}, False),
    "a RayCluster": (ray_cluster("notebook"), {}, True),
    "the RayCluster of a RayJob": (ray_cluster("notebook"), OWNED, False),
}


@pytest.mark.parametrize("name", MANAGED)
def test_managed(name: str) -> None:
    body, meta, wanted = MANAGED[name]
    assert job(stored(body), **meta).managed is wanted


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
    found = job({**ray_job("dev"), "status": {"jobDeploymentStatus": state, "jobStatus": job_status}})
    succeeded = found.outcome.succeeded if found.outcome else None
    assert (found.stopped, found.running, succeeded) == JOB_STATES[state]


SUSPENDED = [{"type": "RayClusterSuspended", "status": "True"}]
RESUMED = [{"type": "RayClusterSuspended", "status": "False"}]
CLUSTER_STATES: dict[str, tuple[Body, tuple[bool, bool]]] = {
    "not seen yet": ({}, (True, False)),
    "ready": ({"state": "ready", "conditions": RESUMED}, (False, True)),
    "suspended": ({"state": "suspended", "conditions": SUSPENDED}, (True, False)),
    "resumed, its pods not ready yet": ({"state": "suspended", "conditions": RESUMED}, (False, False)),
    "suspended, told without conditions": ({"state": "suspended"}, (True, False)),
}


@pytest.mark.parametrize("name", CLUSTER_STATES)
def test_states_of_a_ray_cluster(name: str) -> None:
    status, wanted = CLUSTER_STATES[name]
    found = job({**ray_cluster("notebook"), "status": status})
    assert (found.stopped, found.running) == wanted
    assert found.outcome is None
