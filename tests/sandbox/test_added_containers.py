"""Containers that the real KubeRay adds to a tenant's pods, next to what was counted for them."""

import json
from typing import Any

import pytest

from muster.objects.pods import encode_template, pod_requests
from sandbox.cluster import kinds
from tests.sandbox.conftest import NAMESPACE, Cluster, rayjob
from tests.stacks.ray_requests import ALICE, raycluster, rayservice

TINY = {"requests": {"cpu": "1m", "memory": "1Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
REDIS = {"redisAddress": "redis:6379"}


def create(cluster: Cluster, manifest: dict[str, Any]) -> str:
    """Creates it as a member of the team; returns its name."""
    cluster.kubectl.run("create", "-f", "-", *ALICE, stdin=json.dumps(manifest))
    return str(manifest["metadata"]["name"])


def counted(cluster: Cluster, job: str) -> dict[str, Any]:
    """Returns the requests of one pod of each pod set of the job's Workload."""
    pod_sets = cluster.workload(job)["spec"]["podSets"]
    return {pod_set["name"]: pod_requests(encode_template(pod_set["template"])) for pod_set in pod_sets}


def requested(cluster: Cluster, job: str) -> dict[str, Any]:
    """Returns the requests of the job's pods by their group."""
    return {
        pod["metadata"]["labels"].get("ray.io/group", "").replace("headgroup", "head"): pod_requests(
            encode_template({"spec": pod["spec"]})
        )
        for pod in cluster.pods(job)
    }


@pytest.mark.thorough
def test_pods_of_kuberay_request_what_is_counted(cluster: Cluster) -> None:
    """The submitter runs in the head, and the worker, which asks for little itself, waits for the head."""
    manifest = rayjob("sidecar", gpus=1)
    spec = manifest["spec"]
    spec["submissionMode"] = "SidecarMode"
    spec.pop("submitterPodTemplate", None)
    groups = [spec["rayClusterSpec"]["headGroupSpec"], *spec["rayClusterSpec"]["workerGroupSpecs"]]
    for group in groups:
        pod = group["template"]["spec"]
        pod["restartPolicy"] = "Never"
        pod["containers"][0]["resources"] = TINY
    job = create(cluster, manifest)
    cluster.until("both pods", lambda: len(cluster.pods(job)) == 2)
    pods = requested(cluster, job)
    assert pods == counted(cluster, job)
    worker = spec["rayClusterSpec"]["workerGroupSpecs"][0]["groupName"]
    assert (pods["head"]["cpu"], pods[worker]["cpu"]) == (501, 200)


def reasons(cluster: Cluster, name: str) -> set[str]:
    """Returns the reasons of events on objects whose name begins with this one."""
    events = json.loads(cluster.kubectl.run("get", "events", f"--namespace={NAMESPACE}", "-o", "json"))
    return {e["reason"] for e in events["items"] if e["involvedObject"]["name"].startswith(name)}


def never_admitted(kind: str) -> dict[str, Any]:
    """Returns an object with GCS fault tolerance whose head is too large for the queue."""
    manifest = {"RayCluster": raycluster, "RayService": rayservice}[kind](f"{kind.lower()}-too-large")
    spec = manifest["spec"].get("rayClusterConfig", manifest["spec"])
    spec["gcsFaultToleranceOptions"] = REDIS
    spec["headGroupSpec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1000"}}
    return manifest


@pytest.mark.parametrize("kind", ["RayCluster", "RayService"])
def test_a_cluster_that_was_never_admitted_leaves_no_redis_clean_up(cluster: Cluster, kind: str) -> None:
    """A RayService's Workload is deleted before KubeRay deletes its RayCluster."""
    name = create(cluster, never_admitted(kind))

    def clusters() -> list[dict[str, Any]]:
        stored = cluster.client.list(kinds.RayCluster, namespace=NAMESPACE)
        return [dict(each) for each in stored if each["metadata"]["name"].startswith(name)]

    cluster.until("KubeRay's finalizer", lambda: any(c["metadata"].get("finalizers") for c in clusters()))
    cluster.until("its Workload", lambda: bool(cluster.workload(name)))
    cluster.kubectl.run("delete", f"{kind}/{name}", f"--namespace={NAMESPACE}", "--wait=false", *ALICE)
    cluster.until("its deletion", lambda: not clusters(), 20.0)
    cluster.until("no pods of it", lambda: not cluster.pods(name), 20.0)
    assert "RedisNotCleanedUp" in reasons(cluster, name)


def test_the_redis_clean_up_of_an_admitted_cluster_ends_by_itself(cluster: Cluster) -> None:
    manifest = raycluster("admitted")
    manifest["spec"]["gcsFaultToleranceOptions"] = REDIS
    name = create(cluster, manifest)
    cluster.until("its pods", lambda: len(cluster.pods(name)) == 3)
    cluster.kubectl.run("delete", f"raycluster/{name}", f"--namespace={NAMESPACE}", "--wait=false", *ALICE)

    def ended() -> bool:
        return name not in cluster.kubectl.run("get", "rayclusters", f"--namespace={NAMESPACE}", "-o", "name")

    cluster.until("its deletion", ended, 30.0)
    assert "CreatedRedisCleanupJob" in reasons(cluster, name)
    assert "RedisNotCleanedUp" not in reasons(cluster, name)
