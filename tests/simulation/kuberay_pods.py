"""Pods as KubeRay v1.6.2 builds them from templates, as far as their requests go.

Written down apart from the controller, which counts them (ray-operator/controllers/ray/common/pod.go, job.go;
raycluster_controller.go: buildRedisCleanupJob).
"""

from collections import defaultdict
from fractions import Fraction
from typing import Any

from muster.kube import kinds
from muster.objects.ray import CLUSTER_LABEL
from tests.simulation.api import Body, key_of
from tests.simulation.manifests import quantity
from tests.simulation.operators import owned

GROUP_LABEL, NODE_TYPE = "ray.io/group", "ray.io/node-type"
REDIS_FINALIZER = "ray.io/gcs-ft-redis-cleanup-finalizer"
SUBMITTER = {"name": "ray-job-submitter", "resources": {"requests": {"cpu": "500m", "memory": "200Mi"}}}
AUTOSCALER = {"requests": {"cpu": "500m", "memory": "512Mi"}}
WAIT = {"name": "wait-gcs-ready", "resources": {"requests": {"cpu": "200m", "memory": "256Mi"}}}


def with_submitter(cluster_spec: Body) -> Body:
    """Returns the spec of a RayJob's RayCluster with SidecarMode."""
    head = cluster_spec["headGroupSpec"]
    template = _added(head["template"], containers=SUBMITTER)
    return {**cluster_spec, "headGroupSpec": {**head, "template": template}}


def as_created(cluster_spec: Body, group: str, template: Body) -> Body:
    """Returns the template of a group's pods."""
    if group != "head":
        return _added(template, initContainers=WAIT)
    if not cluster_spec.get("enableInTreeAutoscaling"):
        return template
    resources = cluster_spec.get("autoscalerOptions", {}).get("resources", AUTOSCALER)
    return _added(template, containers={"name": "autoscaler", "resources": resources})


def is_gated(pod: Body) -> bool:
    """Returns whether a scheduling gate keeps the pod from starting, so that it uses nothing."""
    return bool(pod["spec"].get("schedulingGates"))


def scaled_counts(cluster_spec: Body) -> dict[str, int]:
    """Returns the pods of each group that Ray's autoscaler scales (GetWorkerGroupDesiredReplicas)."""
    if not cluster_spec.get("enableInTreeAutoscaling"):
        return {}
    return {
        group["groupName"]: max(group["minReplicas"], min(group["replicas"], group["maxReplicas"]))
        * group["numOfHosts"]
        for group in cluster_spec["workerGroupSpecs"]
    }


def is_fault_tolerant(cluster: Body) -> bool:
    annotated = cluster["metadata"].get("annotations", {}).get("ray.io/ft-enabled", "")
    return annotated.lower() == "true" or "gcsFaultToleranceOptions" in cluster["spec"]


def redis_cleanup_job(cluster: Body) -> Body:
    """Returns the Job that follows the head of a deleted RayCluster, admitted or not."""
    template = cluster["spec"]["headGroupSpec"]["template"]
    labels = {
        **template.get("metadata", {}).get("labels", {}),
        CLUSTER_LABEL: cluster["metadata"]["name"],
        GROUP_LABEL: "head",
        NODE_TYPE: "redis-cleanup",
    }
    cleanup = {"name": "ray-head", "resources": WAIT["resources"]}
    spec = {**template["spec"], "containers": [cleanup]}
    meta = owned(kinds.RAY_CLUSTERS, cluster, f"{key_of(cluster)}-redis-cleanup")
    of_pod = {"metadata": {"labels": labels}, "spec": spec}
    return {"metadata": {**meta, "labels": labels}, "spec": {"template": of_pod}}


def requests_of(spec: Body) -> dict[str, Fraction]:
    """Returns what a pod asks for: its containers, or more while it starts, or its pod-level requests."""
    running: dict[str, Fraction] = defaultdict(Fraction)
    starting: dict[str, Fraction] = defaultdict(Fraction)
    sidecars: dict[str, Fraction] = defaultdict(Fraction)
    for container in spec.get("initContainers", ()):
        asked = _asked(container)
        for resource in {*asked, *sidecars}:
            now = sidecars[resource] + asked.get(resource, Fraction(0))
            starting[resource] = max(starting[resource], now)
        if container.get("restartPolicy") == "Always":
            for resource, amount in asked.items():
                sidecars[resource] += amount
                running[resource] += amount
    for container in spec.get("containers", ()):
        for resource, amount in _asked(container).items():
            running[resource] += amount
    most = {r: max(running[r], starting[r]) for r in {*running, *starting}}
    return {**most, **_asked(spec)}


def _asked(body: Body) -> dict[str, Fraction]:
    resources = body.get("resources") or {}
    both = {**resources.get("limits", {}), **resources.get("requests", {})}
    return {resource: quantity(str(amount)) for resource, amount in both.items()}


def _added(template: Body, **containers: Any) -> Body:
    spec = dict(template["spec"])
    for field, container in containers.items():
        spec[field] = [*spec.get(field, ()), container]
    return {**template, "spec": spec}
