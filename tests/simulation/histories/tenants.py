"""Actions of honest tenants: submit, change, delete, and submit invalid jobs.

Their jobs have features by which KubeRay adds containers and pods, or Kubernetes counts others.
"""

from collections.abc import Callable, Sequence
from typing import Any

from muster.kube import kinds
from muster.objects.names import PRIORITY_LABEL, QUEUE_LABEL, RETRY_ANNOTATION, STOP_ANNOTATION
from tests.simulation.api import Body
from tests.simulation.histories.actions import (
    JOB_KINDS,
    KINDS,
    Act,
    Draw,
    find,
    owned_by,
    workload_of,
)
from tests.simulation.kuberay import state_of
from tests.simulation.manifests import ray_cluster, ray_job, ray_service, template
from tests.simulation.simulation import Simulation

TOO_MANY = 40
RUNS = (kinds.RAY_JOBS, kinds.BATCH_JOBS, kinds.JOB_SETS)  # they end by themselves
UNREASONABLE: tuple[dict[str, Any], ...] = (
    {"queue": "nowhere"},
    {"worker": template("worker")},
    {"workers": TOO_MANY},
    {"priority": "urgent"},
    {"shutdownAfterJobFinishes": False},
    {"features": ["autoscaler"]},
)
POD_LEVEL = {"requests": {"cpu": "3", "memory": "5Gi"}}  # more than the worker's containers


def with_redis(cluster_spec: Body) -> None:
    cluster_spec["gcsFaultToleranceOptions"] = {"redisAddress": "redis:6379"}


def with_pod_level_requests(cluster_spec: Body) -> None:
    (group,) = cluster_spec["workerGroupSpecs"]
    template = group["template"]
    group["template"] = {**template, "spec": {**template["spec"], "resources": POD_LEVEL}}


def with_autoscaler(cluster_spec: Body) -> None:
    cluster_spec["enableInTreeAutoscaling"] = True


def with_sizes(cluster_spec: Body) -> None:
    """Lets the autoscaler scale the workers, from one to eight."""
    cluster_spec["enableInTreeAutoscaling"] = True
    (group,) = cluster_spec["workerGroupSpecs"]
    group |= {"minReplicas": min(1, group["replicas"]), "maxReplicas": 8}


FEATURES: dict[str, Callable[[Body], None]] = {
    "redis": with_redis,
    "pod-level": with_pod_level_requests,
    "autoscaler": with_autoscaler,
    "elastic": with_sizes,
}
ADMISSIBLE = ("redis", "pod-level")
MAKERS = {
    kinds.RAY_JOBS.name: ray_job,
    kinds.RAY_CLUSTERS.name: ray_cluster,
    kinds.RAY_SERVICES.name: ray_service,
}


def draw_features(draw: Draw) -> list[str]:
    return [name for name in ADMISSIBLE if draw.random.random() < 0.25]


def draw_job(draw: Draw) -> dict[str, Any]:
    pick = draw.random.choice
    fields = {
        "workers": pick((1, 2, 4, 4)),
        "priority": pick(("dev-priority", "dev-priority", "prod-priority", "")),
        "outcome": pick(("SUCCEEDED", "SUCCEEDED", "FAILED")),
        "submissionMode": pick(("K8sJobMode", "HTTPMode", "SidecarMode")),
        "seconds": pick((2, 20, 90)),
        "features": draw_features(draw),
    }
    return {"kind": kinds.RAY_JOBS.name, "key": draw.new_key(kinds.RAY_JOBS), **fields}


def draw_unreasonable(draw: Draw) -> dict[str, Any]:
    return {**draw_job(draw), **draw.random.choice(UNREASONABLE)}


def draw_cluster(draw: Draw) -> dict[str, Any]:
    key = draw.new_key(kinds.RAY_CLUSTERS)
    fields = {"workers": draw.random.choice((0, 1, 3)), "features": draw_features(draw)}
    return {"kind": kinds.RAY_CLUSTERS.name, "key": key, **fields}


def draw_service(draw: Draw) -> dict[str, Any]:
    fields = {
        "workers": draw.random.choice((0, 1, 3)),
        "priority": draw.random.choice(("dev-priority", "prod-priority")),
        "features": draw_features(draw),
    }
    return {"kind": kinds.RAY_SERVICES.name, "key": draw.new_key(kinds.RAY_SERVICES), **fields}


def submit(sim: Simulation, kind: str, key: str, features: Sequence[str] = (), **fields: Any) -> None:
    namespace, _, name = key.partition("/")
    body = MAKERS[kind](name, namespace=namespace, **fields)
    spec = body["spec"]
    for feature in features:
        FEATURES[feature](spec.get("rayClusterSpec") or spec.get("rayClusterConfig") or spec)
    sim.submit(body)


def draw_clean_up(draw: Draw) -> dict[str, Any]:
    return {"seconds": draw.random.choice((1, 10, 45, 300))}


def clean_redis_up_for(sim: Simulation, seconds: float) -> None:
    """Sets the duration of KubeRay's Redis clean-ups."""
    sim.kuberay.cleanup_seconds = seconds


def draw_delete(draw: Draw) -> dict[str, Any]:
    return {**draw.job(), "foreground": draw.random.random() < 0.2}


def delete(sim: Simulation, kind: str, key: str, foreground: bool) -> None:
    sim.api.delete(KINDS[kind], key, "user", foreground=foreground)


def draw_workload(draw: Draw) -> dict[str, Any]:
    return draw.job(*JOB_KINDS)


def draw_label(draw: Draw) -> dict[str, Any]:
    label, values = draw.random.choice(
        (
            (PRIORITY_LABEL, ("prod-priority", "dev-priority")),
            (QUEUE_LABEL, ("user-queue", "user-queue", "elsewhere")),
        )
    )
    return {**draw.job(*RUNS), "label": label, "value": draw.random.choice(values)}


def change_label(sim: Simulation, kind: str, key: str, label: str, value: str) -> None:
    sim.patch(KINDS[kind], key, {"metadata": {"labels": {label: value}}})


def draw_ray_job(draw: Draw) -> dict[str, Any]:
    return draw.job(kinds.RAY_JOBS)


def toggle_suspend(sim: Simulation, kind: str, key: str) -> None:
    """Starts a job without quota, or stops one with quota."""
    if state_of(find(sim, kind, key)) not in ("Complete", "Failed", "ValidationFailed"):
        sim.patch(KINDS[kind], key, {"spec": {"suspend": sim.has(key, "Admitted")}})


def toggle_active(sim: Simulation, kind: str, key: str) -> None:
    workload = workload_of(sim, kind, key)
    where = f"{workload['metadata']['namespace']}/{workload['metadata']['name']}"
    sim.patch(kinds.WORKLOADS, where, {"spec": {"active": not workload["spec"]["active"]}})


def toggle_stop(sim: Simulation, kind: str, key: str) -> None:
    """Stops a job by its annotation, or resumes one."""
    stopped = find(sim, kind, key)["metadata"].get("annotations", {}).get(STOP_ANNOTATION)
    sim.patch(KINDS[kind], key, {"metadata": {"annotations": {STOP_ANNOTATION: None if stopped else "true"}}})


def retry(sim: Simulation, kind: str, key: str) -> None:
    sim.patch(KINDS[kind], key, {"metadata": {"annotations": {RETRY_ANNOTATION: str(sim.api.now_ms())}}})


def annotate_workload(sim: Simulation, kind: str, key: str) -> None:
    """Updates it, so that the controller's next write is stale."""
    workload = workload_of(sim, kind, key)
    where = f"{workload['metadata']['namespace']}/{workload['metadata']['name']}"
    sim.patch(kinds.WORKLOADS, where, {"metadata": {"annotations": {"looked-at": str(sim.api.now_ms())}}})


def draw_stock(draw: Draw) -> dict[str, Any]:
    return {"requests": draw.random.choice((0, 1, 2, 6))}


def run_out_of_stock(sim: Simulation, requests: int) -> None:
    sim.cloud.stock_outs = requests


def draw_revocation(draw: Draw) -> dict[str, Any]:
    return {**draw.job(), "condition": draw.random.choice(("CapacityRevoked", "BookingExpired"))}


def revoke(sim: Simulation, kind: str, key: str, condition: str) -> None:
    """Revokes provisioned capacity."""
    uid = workload_of(sim, kind, key)["metadata"]["uid"]
    for request in owned_by(sim, kinds.PROVISIONING_REQUESTS, uid):
        reported = {c["type"] for c in request.get("status", {}).get("conditions", [])}
        if reported == {"Accepted", "Provisioned"}:
            sim.cloud.say(request, condition, f"{condition} by the cloud")


ACTIONS = {
    "submit-job": Act(8, draw_job, submit),
    "submit-cluster": Act(2, draw_cluster, submit),
    "submit-service": Act(2, draw_service, submit),
    "submit-unreasonable": Act(2, draw_unreasonable, submit),
    "delete-job": Act(3, draw_delete, delete),
    "change-label": Act(3, draw_label, change_label),
    "toggle-suspend": Act(2, draw_ray_job, toggle_suspend),
    "toggle-stop": Act(2, draw_workload, toggle_stop),
    "retry": Act(1, draw_workload, retry),
    "toggle-active": Act(1, draw_workload, toggle_active),
    "annotate-workload": Act(2, draw_workload, annotate_workload),
    "out-of-stock": Act(2, draw_stock, run_out_of_stock),
    "revoke-capacity": Act(1, draw_revocation, revoke),
    "clean-up-redis-for": Act(1, draw_clean_up, clean_redis_up_for),
}
