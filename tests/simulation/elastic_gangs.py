"""Builders and sizes of gangs that Ray's autoscaler scales."""

from collections.abc import Mapping
from typing import Any

from muster.kube import kinds
from tests.simulation.api import Body
from tests.simulation.kuberay_pods import is_gated
from tests.simulation.manifests import (
    PREEMPTION,
    WORKER,
    cluster_queue,
    quotas,
    ray_cluster_spec,
    ray_job,
    ray_service,
    stack,
)
from tests.simulation.simulation import Simulation


def elastic(name: str, *, least: int = 2, most: int = 8, asks: int = 2, hosts: int = 1, **more: Any) -> Body:
    """Returns a RayJob whose workers are scaled; each has a GPU."""
    cluster = ray_cluster_spec(asks, WORKER)
    group = {**cluster["workerGroupSpecs"][0], "minReplicas": least, "maxReplicas": most, "numOfHosts": hosts}
    scaled = {**cluster, "enableInTreeAutoscaling": True, "workerGroupSpecs": [group]}
    return ray_job(name, rayClusterSpec=scaled, seconds=more.pop("seconds", 600), **more)


def elastic_service(name: str, *, least: int) -> Body:
    """Returns a RayService whose workers are scaled; each has a GPU."""
    service = ray_service(name)
    spec = {**service["spec"]["rayClusterConfig"], "enableInTreeAutoscaling": True}
    group = {**spec["workerGroupSpecs"][0], "replicas": least, "minReplicas": least, "maxReplicas": 8}
    return ray_service(name, rayClusterConfig={**spec, "workerGroupSpecs": [group]})


def platform(gpus: int = 6, *, retry: Mapping[str, int] | None = None, **spec: Any) -> dict[Any, list[Body]]:
    cpu = quotas("cpu", cpu=64, memory="256Gi", gpu=0)
    l4 = quotas("l4", cpu=64, memory="256Gi", gpu={"nominalQuota": str(gpus)})
    return stack(cluster_queue("team-a", cpu, l4, **{"preemption": PREEMPTION, **spec}), retry=retry)


def workers(sim: Simulation, job: str, *, gated: bool = False) -> int:
    """Returns the workers of a job that run, or that wait for quota."""
    return sum(
        pod["metadata"]["labels"].get("ray.io/group") == "gpu"
        and (is_gated(pod) if gated else pod["status"]["phase"] == "Running")
        for pod in sim.pods_of(job)
    )


def granted(sim: Simulation, job: str, kind: kinds.Kind[Any] = kinds.RAY_JOBS) -> int:
    workload = sim.workload(job, kind)
    assert workload is not None
    assigned = workload.get("status", {}).get("admission", {}).get("podSetAssignments", [])
    return sum(a["count"] for a in assigned if a["name"] == "gpu")
