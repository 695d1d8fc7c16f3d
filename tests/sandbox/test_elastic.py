"""Gangs that Ray's autoscaler scales, with the real KubeRay and the platform's policies. The test does what
the autoscaler would do, as its account."""

import json
from typing import Any

import pytest

from muster.objects.names import CONSUME_ANNOTATION, REQUEST_LABEL
from sandbox.cluster import kinds
from sandbox.stand_ins.ray_autoscaler import WORKERS
from tests.sandbox.conftest import NAMESPACE, Cluster, Manifest, rayjob
from tests.stacks.ray_requests import ALICE


def elastic_on_gpus(name: str, *, least: int, most: int) -> Manifest:
    """Returns a RayJob with workers of a GPU, which runs until it is deleted."""
    job = rayjob(name, gpus=least)
    job["metadata"]["annotations"]["sandbox.muster.dev/run-seconds"] = "600"
    spec = job["spec"]["rayClusterSpec"]
    spec["enableInTreeAutoscaling"] = True
    (group,) = spec["workerGroupSpecs"]
    group["maxReplicas"] = most
    return job


def elastic(name: str, *, least: int, most: int) -> Manifest:
    """Returns a RayJob with workers of 200m CPU, which runs until it is deleted."""
    job = elastic_on_gpus(name, least=least, most=most)
    (group,) = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    resources = {"cpu": "200m", "memory": "256Mi"}
    group["template"]["spec"]["containers"][0]["resources"] = {"requests": resources, "limits": resources}
    return job


def workers(cluster: Cluster, job: str) -> list[Manifest]:
    """Returns the workers of the job that run."""
    return [
        pod
        for pod in cluster.pods(job)
        if pod["metadata"]["labels"].get("ray.io/node-type") == "worker"
        and pod["status"]["phase"] == "Running"
    ]


def granted(cluster: Cluster, job: str) -> int:
    """Returns the workers that hold quota."""
    assigned = cluster.workload(job)["status"]["admission"]["podSetAssignments"]
    return sum(a["count"] for a in assigned if a["name"] not in ("head", "submitter"))


def ray_cluster(cluster: Cluster, job: str) -> Manifest:
    (own,) = (
        dict(c)
        for c in cluster.client.list(kinds.RayCluster, namespace=NAMESPACE)
        if c["metadata"]["name"].startswith(job)
    )
    return own


def scale(cluster: Cluster, job: str, replicas: int, remove: list[str] | None = None) -> None:
    """Writes as Ray's autoscaler does."""
    name = ray_cluster(cluster, job)["metadata"]["name"]
    group = "/spec/workerGroupSpecs/0"
    patch: list[dict[str, Any]] = [
        {"op": "replace", "path": f"{group}/replicas", "value": replicas},
        {"op": "add", "path": f"{group}/scaleStrategy", "value": {"workersToDelete": remove or []}},
    ]
    account = f"--as=system:serviceaccount:{NAMESPACE}:{name}"
    groups = ("--as-group=system:serviceaccounts", f"--as-group=system:serviceaccounts:{NAMESPACE}")
    at = ("patch", "raycluster", name, "--namespace", NAMESPACE, "--type=json", "--patch", json.dumps(patch))
    cluster.kubectl.run(*at, account, *groups)


def limit(cluster: Cluster, job: str) -> int:
    """Returns the limit of the job's autoscaler."""
    (group,) = ray_cluster(cluster, job)["spec"]["workerGroupSpecs"]
    return int(group["maxReplicas"])


def test_an_autoscaled_job_grows_to_its_quota_and_shrinks(cluster: Cluster) -> None:
    manifest = elastic("elastic", least=1, most=4)
    cluster.kubectl.run("create", "-f", "-", *ALICE, stdin=json.dumps(manifest))
    job = manifest["metadata"]["name"]
    cluster.until("its minimum", lambda: len(workers(cluster, job)) == 1)
    cluster.until("the offer of free quota", lambda: limit(cluster, job) == 4)
    scale(cluster, job, 3)
    cluster.until("growth", lambda: len(workers(cluster, job)) == granted(cluster, job) == 3)
    assert kinds.condition(cluster.workload(job), "Admitted")["status"] == "True"
    scale(cluster, job, 1, sorted(pod["metadata"]["name"] for pod in workers(cluster, job))[:2])
    cluster.until("the end of two workers", lambda: len(workers(cluster, job)) == granted(cluster, job) == 1)
    # The limit is changed only when it must be: it may still be that of the three workers.
    cluster.until("room to grow again", lambda: limit(cluster, job) > 1)


@pytest.mark.thorough
def test_growth_on_a_queued_pool_has_its_own_nodes(cluster: Cluster) -> None:
    manifest = elastic_on_gpus("queued", least=1, most=4)
    (group,) = manifest["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    manifest["metadata"]["annotations"][WORKERS] = f"{group['groupName']}=3"
    cluster.zone(**{"l4.nodes": "1"})
    cluster.kubectl.run("create", "-f", "-", *ALICE, stdin=json.dumps(manifest))
    job = manifest["metadata"]["name"]
    cluster.until("its minimum", lambda: len(workers(cluster, job)) == 1)
    cluster.until("quota, without nodes", lambda: granted(cluster, job) == 3 and limit(cluster, job) == 1)
    limited = kinds.condition(cluster.workload(job), "GrowthLimited")
    assert limited["reason"] == "WaitingForNodes"
    cluster.zone()
    cluster.until("growth", lambda: len(workers(cluster, job)) == 3)
    requests = {r["metadata"]["name"]: r for r in cluster.requests(job)}
    nodes = {n["metadata"]["name"]: n["metadata"]["labels"] for n in cluster.gpu_nodes()}
    for pod in workers(cluster, job):
        request = requests[pod["metadata"]["annotations"][CONSUME_ANNOTATION]]
        resize = request["status"]["provisioningClassDetails"]["ResizeRequestName"]
        assert nodes[pod["spec"]["nodeName"]][REQUEST_LABEL] == resize
    assert len(requests) == 2
    name = ray_cluster(cluster, job)["metadata"]["name"]
    less = f"{WORKERS}={group['groupName']}=1"
    cluster.kubectl.run("annotate", "--overwrite", "raycluster", name, "--namespace", NAMESPACE, less)
    cluster.until("the end of two workers", lambda: len(workers(cluster, job)) == granted(cluster, job) == 1)
    cluster.until("the end of their nodes", lambda: len(cluster.gpu_nodes()) < 3)
