"""Checks of gangs, shared by the scenarios: whether all pods run, and on which nodes. Pure."""

from collections.abc import Iterable

from sandbox.cluster.kinds import Object, condition
from sandbox.scenarios.observations import JobRef, ObservedObjects, seconds

GPU = "nvidia.com/gpu"
# Fields of RayJobs and RayServices with the spec of the Ray cluster.
CLUSTER_FIELDS = ("rayClusterSpec", "rayClusterConfig")


def cluster_spec(job: Object) -> Object:
    """Returns the spec of the Ray cluster that the job runs on."""
    spec: Object = job["spec"]
    return next((spec[f] for f in CLUSTER_FIELDS if f in spec), spec)


def gang_size(job: Object) -> int:
    """Returns the number of pods of the job's cluster: the head, and the replicas times the hosts of each
    group."""
    groups = cluster_spec(job).get("workerGroupSpecs") or []
    return 1 + sum(int(g.get("replicas", 1)) * int(g.get("numOfHosts", 1)) for g in groups)


def running_gang(observed: ObservedObjects, ref: JobRef) -> list[Object]:
    """Returns the pods of the job's cluster if all of them run; empty otherwise."""
    job, gang = observed.job(ref), observed.gang(ref)
    whole = bool(job) and len(gang) == gang_size(job)
    return gang if whole and all(_phase(p) == "Running" for p in gang) else []


def admitted_whole(observed: ObservedObjects, ref: JobRef) -> str:
    """Checks that the job's Workload is Admitted, that its whole gang runs, and that no pod is older than the
    admission."""
    admitted = condition(observed.workload(ref), "Admitted")
    gang = running_gang(observed, ref)
    if admitted.get("status") != "True" or not gang:
        return ""
    since = seconds(admitted["lastTransitionTime"])
    if min(seconds(p["metadata"]["creationTimestamp"]) for p in gang) < since:
        return ""
    return f"Workload Admitted, all {len(gang)} pods running"


def not_ended(pods: Iterable[Object]) -> list[Object]:
    """Returns the pods that have not ended. A kubelet removes a deleted pod some time after its phase has
    become final, which frees its quota."""
    return [p for p in pods if _phase(p) not in ("Succeeded", "Failed")]


def on_nodes(pods: Iterable[Object]) -> list[Object]:
    """Returns the pods that are bound to a node and have not ended."""
    return [p for p in not_ended(pods) if p["spec"].get("nodeName")]


def gpu_workers(observed: ObservedObjects, gang: Iterable[Object]) -> list[Object]:
    """Returns the gang's pods that use GPUs if all of them are on GPU nodes; empty otherwise."""
    gpu_nodes = {
        n["metadata"]["name"] for n in observed.all("Node") if GPU in n["status"].get("capacity", {})
    }
    workers = [p for p in gang if uses_gpus(p)]
    return workers if all(p["spec"].get("nodeName") in gpu_nodes for p in workers) else []


def uses_gpus(pod: Object) -> bool:
    """Returns whether any container of the pod requests GPUs."""
    resources = [c.get("resources") or {} for c in pod["spec"]["containers"]]
    return any(GPU in (r.get("limits") or {}) or GPU in (r.get("requests") or {}) for r in resources)


def _phase(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase", ""))
