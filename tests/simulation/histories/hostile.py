"""Actions of a tenant that wants to keep its GPUs, without admission policies.

Left out: what only the policies can stop, such as more replicas or another template on a running RayCluster.
"""

from collections.abc import Callable
from typing import Any

from muster.kube import kinds
from muster.objects.names import QUEUE_LABEL, WORKLOAD_UID_LABEL
from muster.objects.ray import CLUSTER_LABEL, GROUP_LABEL
from tests.simulation.api import Body, key_of
from tests.simulation.histories.actions import (
    JOB_KINDS,
    KINDS,
    RAY_KINDS,
    Act,
    Draw,
    find,
    owned_by,
    workload_of,
)
from tests.simulation.manifests import template
from tests.simulation.simulation import Simulation

BY, FINALIZER = "tenant", "tenant.example/mine"
TOUCHES_MS = 1000  # and on from the end of the history until the next gang has its quota
CLUSTER_FIELD = {kinds.RAY_JOBS.name: "rayClusterSpec", kinds.RAY_SERVICES.name: "rayClusterConfig"}


def a_job(draw: Draw) -> dict[str, Any]:
    return draw.job(*JOB_KINDS)


def a_ray_object(draw: Draw) -> dict[str, Any]:
    return draw.job(*RAY_KINDS)


def a_ray_job(draw: Draw) -> dict[str, Any]:
    return draw.job(kinds.RAY_JOBS)


def a_ray_service(draw: Draw) -> dict[str, Any]:
    return draw.job(kinds.RAY_SERVICES)


def edit(sim: Simulation, kind: str, key: str, patch: Body) -> None:
    sim.api.merge_patch(KINDS[kind], key, patch, BY, False)


def edit_groups(sim: Simulation, kind: str, key: str, groups: list[Body]) -> None:
    spec = {"workerGroupSpecs": groups}
    field = CLUSTER_FIELD.get(kind)
    edit(sim, kind, key, {"spec": {field: spec} if field else spec})


def groups_of(sim: Simulation, kind: str, key: str) -> list[Body]:
    spec = find(sim, kind, key)["spec"]
    groups: list[Body] = spec.get(CLUSTER_FIELD.get(kind, ""), spec)["workerGroupSpecs"]
    return groups


def annotate_topology(sim: Simulation, kind: str, key: str) -> None:
    """Sets an invalid annotation of the worker template."""
    annotations = {"kueue.x-k8s.io/podset-unconstrained-topology": "maybe"}
    groups = groups_of(sim, kind, key)
    meta = groups[0]["template"].get("metadata", {})
    patched = {**meta, "annotations": {**meta.get("annotations", {}), **annotations}}
    edit_groups(
        sim,
        kind,
        key,
        [{**groups[0], "template": {**groups[0]["template"], "metadata": patched}}, *groups[1:]],
    )


def duplicate_group(sim: Simulation, kind: str, key: str) -> None:
    groups = groups_of(sim, kind, key)
    edit_groups(sim, kind, key, [*groups, groups[0]])


def min_above_max(sim: Simulation, kind: str, key: str) -> None:
    groups = groups_of(sim, kind, key)
    edit_groups(sim, kind, key, [{**groups[0], "minReplicas": 5, "maxReplicas": 1}, *groups[1:]])


def negative_backoff(sim: Simulation, kind: str, key: str) -> None:
    edit(sim, kind, key, {"spec": {"backoffLimit": -1}})


def manage_elsewhere(sim: Simulation, kind: str, key: str) -> None:
    edit(sim, kind, key, {"spec": {"managedBy": "kueue.x-k8s.io/multikueue"}})


def leave_queue(sim: Simulation, kind: str, key: str) -> None:
    edit(sim, kind, key, {"metadata": {"labels": {QUEUE_LABEL: None}}})


def empty_queue_label(sim: Simulation, kind: str, key: str) -> None:
    edit(sim, kind, key, {"metadata": {"labels": {QUEUE_LABEL: ""}}})


def own(sim: Simulation, kind: str, key: str) -> None:
    """Makes the tenant's own ConfigMap its controller."""
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "name": "mine", "uid": "mine", "controller": True}
    sim.api.outside.add("mine")
    edit(sim, kind, key, {"metadata": {"ownerReferences": [config_map]}})


def delete_with_finalizer(sim: Simulation, kind: str, key: str) -> None:
    finalizers = find(sim, kind, key)["metadata"].get("finalizers", [])
    edit(sim, kind, key, {"metadata": {"finalizers": [*finalizers, FINALIZER]}})
    sim.api.delete(KINDS[kind], key, BY)


def touch(sim: Simulation, kind: str, key: str) -> None:
    """Updates it in a loop, so that the resourceVersion just read is always stale."""
    sim.touched[KINDS[kind], key] = sim.api.now_ms() + TOUCHES_MS


def new_upgrade_strategy(sim: Simulation, kind: str, key: str) -> None:
    edit(sim, kind, key, {"spec": {"upgradeStrategy": {"type": "NewCluster"}}})


def labelled_pod(sim: Simulation, kind: str, key: str, name: str) -> None:
    """Creates a pod in another namespace with the label of the Workload."""
    uid = workload_of(sim, kind, key)["metadata"]["uid"]
    meta = {"namespace": "stranger", "name": name, "labels": {WORKLOAD_UID_LABEL: uid}}
    body = {"metadata": meta, **template("squatter", cpu=1), "status": {"phase": "Pending"}}
    sim.api.create(kinds.PODS, body, BY)


def draw_labelled_pod(draw: Draw) -> dict[str, Any]:
    return {**a_job(draw), "name": f"squatter{draw.random.randrange(10**6)}"}


def foreign_cluster(sim: Simulation, kind: str, key: str, name: str) -> None:
    """Creates a RayCluster in another namespace that names the job as its owner."""
    job = find(sim, kind, key)
    owner = {
        "apiVersion": KINDS[kind].api_version,
        "kind": kind,
        "name": job["metadata"]["name"],
        "uid": job["metadata"]["uid"],
        "controller": True,
    }
    meta = {"namespace": "stranger", "name": name, "ownerReferences": [owner]}
    worker = template("worker", cpu=1)
    spec = {"headGroupSpec": {"template": worker}, "workerGroupSpecs": [], "suspend": False}
    sim.api.create(kinds.RAY_CLUSTERS, {"metadata": meta, "spec": spec}, BY)


def linger(sim: Simulation, kind: str, key: str) -> None:
    """Keeps its pods after it has finished."""
    edit(sim, kind, key, {"spec": {"ttlSecondsAfterFinished": 300}})


def below(act: Callable[[Simulation, str, str], None]) -> Callable[[Simulation, str, str], None]:
    """Does the same to the RayClusters that KubeRay created for the job, before or after its end."""

    def do(sim: Simulation, kind: str, key: str) -> None:
        uid = find(sim, kind, key)["metadata"]["uid"]
        for cluster in owned_by(sim, kinds.RAY_CLUSTERS, uid):
            sim.invariants.distrust(cluster)
            act(sim, kinds.RAY_CLUSTERS.name, key_of(cluster))

    return do


def edit_pods(sim: Simulation, kind: str, key: str, patch: Body) -> None:
    """Edits the gang's pods, as a container may with the Role of KubeRay's autoscaler."""
    workload = workload_of(sim, kind, key)["metadata"]
    for pod in sim.api.all(kinds.PODS):
        meta = pod["metadata"]
        if (meta["namespace"], meta.get("labels", {}).get(WORKLOAD_UID_LABEL)) == (
            workload["namespace"],
            workload["uid"],
        ):
            sim.api.merge_patch(kinds.PODS, key_of(pod), patch, BY, False)


def disown_pods(sim: Simulation, kind: str, key: str) -> None:
    edit_pods(sim, kind, key, {"metadata": {"ownerReferences": None}})


def unlabel_pods(sim: Simulation, kind: str, key: str) -> None:
    edit_pods(sim, kind, key, {"metadata": {"labels": {CLUSTER_LABEL: None, GROUP_LABEL: None}}})


def finalize_pods(sim: Simulation, kind: str, key: str) -> None:
    edit_pods(sim, kind, key, {"metadata": {"finalizers": [FINALIZER]}})


def resume(sim: Simulation, kind: str, key: str) -> None:
    edit(sim, kind, key, {"spec": {"suspend": False}})


HOSTILE = {
    "annotate-topology": Act(1, a_ray_object, annotate_topology, hostile=True),
    "duplicate-group": Act(1, a_ray_object, duplicate_group, hostile=True),
    "min-above-max": Act(1, a_ray_object, min_above_max, hostile=True),
    "negative-backoff": Act(1, a_ray_job, negative_backoff, hostile=True),
    "manage-elsewhere": Act(1, a_ray_object, manage_elsewhere, hostile=True),
    "leave-queue": Act(1, a_job, leave_queue, hostile=True),
    "empty-queue-label": Act(1, a_job, empty_queue_label, hostile=True),
    "own": Act(1, a_job, own, hostile=True),
    "delete-with-finalizer": Act(1, a_job, delete_with_finalizer, hostile=True),
    "touch": Act(1, a_job, touch, hostile=True),
    "new-upgrade-strategy": Act(1, a_ray_service, new_upgrade_strategy, hostile=True),
    "resume-cluster": Act(1, a_ray_object, below(resume), hostile=True),
}
PODS = {
    "disown-pods": Act(2, a_job, disown_pods, hostile=True),
    "unlabel-pods": Act(1, a_job, unlabel_pods, hostile=True),
    "finalize-pods": Act(1, a_job, finalize_pods, hostile=True),
}
STRANGERS = {
    "labelled-pod": Act(1, draw_labelled_pod, labelled_pod),
    "foreign-cluster": Act(1, draw_labelled_pod, foreign_cluster),
}
LINGERING = {
    "linger": Act(3, a_ray_job, linger, hostile=True),
    "manage-cluster-elsewhere": Act(1, a_ray_job, below(manage_elsewhere), hostile=True),
    "delete-cluster-with-finalizer": Act(1, a_ray_job, below(delete_with_finalizer), hostile=True),
    "touch-cluster": Act(1, a_ray_job, below(touch), hostile=True),
}
