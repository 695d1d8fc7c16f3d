"""Retries of a failed RayJob by the real KubeRay, whose pods linger."""

import pytest
from lightkube.types import PatchType

from sandbox.cluster import kinds
from tests.sandbox.conftest import NAMESPACE, Cluster, Manifest, rayjob

FINALIZER = "tenant.example/mine"


def set_finalizers(cluster: Cluster, pods: list[Manifest], finalizers: list[str]) -> None:
    for pod in pods:
        body = {"metadata": {"finalizers": finalizers or None}}
        name = pod["metadata"]["name"]
        cluster.client.patch(kinds.Pod, name, body, namespace=NAMESPACE, patch_type=PatchType.MERGE)


@pytest.mark.thorough
def test_the_next_attempt_waits_for_the_pods_of_the_last_one(cluster: Cluster) -> None:
    """Finalizers keep the workers, as a long grace period would."""
    manifest = rayjob("retries", gpus=1)
    manifest["spec"]["backoffLimit"] = 1
    manifest["metadata"]["annotations"] |= {
        "sandbox.muster.dev/outcome": "FAILED",
        "sandbox.muster.dev/run-seconds": "8",
    }
    job = cluster.submit(manifest)

    def of_ray() -> list[Manifest]:
        return [pod for pod in cluster.pods(job) if "ray.io/cluster" in pod["metadata"].get("labels", {})]

    def status() -> Manifest:
        return dict(cluster.job(job).get("status", {}))

    cluster.until("pods", lambda: status().get("jobDeploymentStatus") == "Running" and len(of_ray()) == 2)
    first = of_ray()
    set_finalizers(cluster, first, [FINALIZER])
    try:
        cluster.until("a pause", lambda: status().get("jobDeploymentStatus") == "Suspended")
        assert status()["failed"] == 1
        # On a busy machine KubeRay creates a head before the pause, which is deleted.
        cluster.until("no live pods", lambda: all("deletionTimestamp" in pod["metadata"] for pod in of_ray()))
        assert {pod["metadata"]["name"] for pod in of_ray()} >= {pod["metadata"]["name"] for pod in first}
    finally:  # the cluster is shared
        set_finalizers(cluster, first, [])
    cluster.until("the second attempt", lambda: status().get("failed") == 2, 120.0)
    assert status()["jobDeploymentStatus"] == "Failed"
