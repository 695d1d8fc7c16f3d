"""KubeRay's Redis clean-up under stack local's policies: its Job needs quota, and its head has no devices."""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from sandbox.cluster.kubectl import Kubectl
from tests.stacks.dry_runs import Manifest
from tests.stacks.ray_requests import ADMIN, ALICE, raycluster, rayjob, rayservice, refusal

UID = "muster.dev/workload-uid"
NO_QUOTA = (
    "in this namespace Ray's pods need quota, and this RayCluster has none for its Redis clean-up: if the "
    "cluster has run, delete its storage namespace from Redis manually"
)
DEVICES = "with GCS fault tolerance has no resourceClaims, and its init containers ask for cpu, memory"
QUEUED, FREE = "team-a-queued", "team-a"
PODS = {"restartPolicy": "Never", "containers": [{"name": "ray-head", "image": "ray"}]}


def cleanup(namespace: str, node_type: str = "redis-cleanup", **labels: str) -> Manifest:
    """Returns a Job as KubeRay builds it: it has the labels of its pods."""
    labels = {"ray.io/node-type": node_type, **labels}
    template = {"metadata": {"labels": labels}, "spec": PODS}
    metadata: Manifest = {"name": "notebook-redis-cleanup", "namespace": namespace, "labels": labels}
    metadata["ownerReferences"] = [
        {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "notebook", "uid": "1", "controller": True}
    ]
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}


JOBS: dict[str, tuple[Manifest, str]] = {
    "of a cluster without quota": (cleanup(QUEUED), NO_QUOTA),
    "of an admitted cluster": (cleanup(QUEUED, **{UID: "1"}), ""),
    "of another type of node": (cleanup(QUEUED, node_type="submitter"), ""),
    "where objects may be outside of queues": (cleanup(FREE), ""),
}


@pytest.mark.parametrize("name", JOBS)
def test_a_redis_clean_up_runs_on_quota_only(server: Kubectl, name: str) -> None:
    """KubeRay is refused too: it is this user in the sandbox."""
    manifest, message = JOBS[name]
    assert refusal(server, ADMIN, manifest) == message


INIT: dict[str, Any] = {"name": "init", "image": "ray"}
GPU = {**INIT, "name": "devices", "resources": {"limits": {"nvidia.com/gpu": "4"}}}
STORAGE = {"memory": "1Gi", "ephemeral-storage": "1Gi"}
CPU = {**INIT, "name": "other", "resources": {"requests": {"cpu": "1"}, "limits": STORAGE}}
OPTIONS = {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}
ANNOTATION = {"ray.io/ft-enabled": "True"}


def ray(
    make: Callable[[], Manifest],
    cluster: str = "",
    *,
    spec: dict[str, Any] = OPTIONS,
    annotations: dict[str, str] | None = None,
    **head: Any,
) -> Manifest:
    """Returns the object with these fields in its cluster's spec, its annotations and its head's pod."""
    manifest = copy.deepcopy(make())
    of_cluster = manifest["spec"][cluster] if cluster else manifest["spec"]
    of_cluster.update(copy.deepcopy(spec))
    of_cluster["headGroupSpec"]["template"]["spec"].update(head)
    manifest["metadata"].setdefault("annotations", {}).update(annotations or {})
    return manifest


class Creation(NamedTuple):
    name: str
    manifest: Manifest
    is_refused: bool

    def __str__(self) -> str:
        return self.name


CREATIONS = [
    Creation("GPUs in an init container", ray(raycluster, initContainers=[INIT, GPU]), True),
    Creation("in a sidecar", ray(raycluster, initContainers=[{**GPU, "restartPolicy": "Always"}]), True),
    Creation("of a RayJob", ray(rayjob, "rayClusterSpec", initContainers=[GPU]), True),
    Creation("of a RayService", ray(rayservice, "rayClusterConfig", initContainers=[GPU]), True),
    Creation("by annotation", ray(raycluster, spec={}, annotations=ANNOTATION, initContainers=[GPU]), True),
    Creation("claims", ray(raycluster, resourceClaims=[{"name": "gpu", "resourceClaimName": "a"}]), True),
    Creation("init containers without devices", ray(raycluster, initContainers=[INIT, CPU]), False),
    Creation("no init containers", ray(raycluster), False),
    Creation("without fault tolerance", ray(raycluster, spec={}, initContainers=[GPU]), False),
]


@pytest.mark.parametrize("case", CREATIONS, ids=str)
def test_heads_with_a_redis_clean_up_have_no_devices_in_init_containers(
    server: Kubectl, case: Creation
) -> None:
    refused = refusal(server, ALICE, case.manifest)
    assert (DEVICES in refused) is case.is_refused, refused
    assert bool(refused) is case.is_refused, refused
