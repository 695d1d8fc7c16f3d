"""The numbers of workers of an autoscaled job with one worker group: granted, allowed, asked for and running.
Pure."""

from dataclasses import dataclass

from sandbox.cluster.kinds import Object
from sandbox.scenarios.gangs import cluster_spec
from sandbox.scenarios.observations import JobRef, ObservedObjects, labels


@dataclass(frozen=True)
class WorkerSizes:
    """Numbers of workers. `granted` hold quota, `limit` is the autoscaler's maxReplicas, `asked` what it asks
    for within that limit."""

    granted: int = 0
    limit: int = 0
    asked: int = 0
    running: int = 0

    def __str__(self) -> str:
        return (
            f"workers: {self.granted} granted, {self.asked} asked for, {self.running} running, "
            f"maxReplicas {self.limit}"
        )


def is_autoscaled(job: Object) -> bool:
    """Returns whether Ray's autoscaler scales the job's cluster."""
    return bool(job) and bool(cluster_spec(job).get("enableInTreeAutoscaling"))


def worker_sizes(observed: ObservedObjects, ref: JobRef) -> WorkerSizes:
    """Returns the sizes of the job's worker group; 0 where there is no Workload, RayCluster or pod yet."""
    job, workload = observed.job(ref), observed.workload(ref)
    if not job:
        return WorkerSizes()
    (name,) = (group["groupName"] for group in cluster_spec(job)["workerGroupSpecs"])
    admission = (workload.get("status") or {}).get("admission") or {}
    assigned = [a for a in admission.get("podSetAssignments", ()) if a["name"] == name]
    groups = observed.ray_cluster(ref).get("spec", {}).get("workerGroupSpecs", ())
    workers = [pod for pod in observed.gang(ref) if labels(pod).get("ray.io/group") == name]
    return WorkerSizes(
        granted=sum(a.get("count", 0) for a in assigned),
        limit=sum(group.get("maxReplicas", 0) for group in groups),
        asked=sum(group.get("replicas", 0) for group in groups),
        running=sum((pod.get("status") or {}).get("phase") == "Running" for pod in workers),
    )
