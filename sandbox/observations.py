"""What watches of the API server have shown, and what milestones and timeline ask of it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sandbox.capacity import PROVISIONING_LABEL
from sandbox.kinds import Object, condition, is_true, key

GPU = "nvidia.com/gpu"
JOB_NAME_LABEL = "batch.kubernetes.io/job-name"
RAY_CLUSTER_LABEL = "ray.io/cluster"


@dataclass(frozen=True)
class Seen:
    """One change of one object, `at` seconds after the scenario began; `gone`: deleted, in its last state."""

    at: float
    kind: str
    obj: Object
    gone: bool = False


@dataclass(frozen=True)
class JobRef:
    """One RayJob of the scenario."""

    namespace: str
    name: str


@dataclass
class World:
    """The objects as last seen."""

    objects: dict[str, dict[tuple[str, str], Object]] = field(default_factory=dict)

    def see(self, seen: Seen) -> None:
        """Takes in one change."""
        of_kind = self.objects.setdefault(seen.kind, {})
        if seen.gone:
            of_kind.pop(key(seen.obj), None)
        else:
            of_kind[key(seen.obj)] = seen.obj

    def all(self, kind: str) -> Iterator[Object]:
        """Every object of one kind."""
        return iter(self.objects.get(kind, {}).values())

    def job(self, ref: JobRef) -> Object:
        """The RayJob, or an empty dictionary."""
        return self.objects.get("RayJob", {}).get((ref.namespace, ref.name), {})

    def workload(self, ref: JobRef) -> Object:
        """The Workload that the engine made for the RayJob, or an empty dictionary."""
        job = self.job(ref)
        return next((w for w in self.all("Workload") if job and owned(w, job)), {})

    def pods(self, ref: JobRef) -> list[Object]:
        """All pods of the RayJob, its submitter's among them, whichever of its Ray clusters they are of."""
        return [p for p in self.all("Pod") if key(p)[0] == ref.namespace and _pod_of(p, ref.name)]

    def gang(self, ref: JobRef) -> list[Object]:
        """The RayJob's head and workers."""
        return [p for p in self.pods(ref) if RAY_CLUSTER_LABEL in labels(p)]

    def request(self, ref: JobRef) -> Object:
        """The provisioned request of the RayJob's Workload, or any other of it, or an empty dictionary."""
        workload = self.workload(ref)
        mine = [r for r in self.all("ProvisioningRequest") if workload and owned(r, workload)]
        return next((r for r in mine if is_true(r, "Provisioned")), mine[0] if mine else {})

    def nodes(self, resize_name: str) -> list[Object]:
        """The nodes that were made for one request."""
        return [n for n in self.all("Node") if labels(n).get(PROVISIONING_LABEL) == resize_name]


def _pod_of(pod: Object, job: str) -> bool:
    # KubeRay names a RayJob's clusters `<job>-<5 characters>`; after suspension nothing else links the two.
    cluster = labels(pod).get(RAY_CLUSTER_LABEL, "")
    return cluster.rpartition("-")[0] == job or labels(pod).get(JOB_NAME_LABEL) == job


def labels(obj: Object) -> dict[str, str]:
    """The object's labels."""
    return obj["metadata"].get("labels") or {}


def owned(obj: Object, owner: Object) -> bool:
    """Whether `owner` is among the object's owners."""
    references = obj["metadata"].get("ownerReferences") or []
    return any(r["uid"] == owner["metadata"]["uid"] for r in references)


def gang_size(job: Object) -> int:
    """Pods of the RayJob's cluster: one head, and every group's replicas times its hosts."""
    groups = job["spec"]["rayClusterSpec"].get("workerGroupSpecs") or []
    return 1 + sum(int(g.get("replicas", 1)) * int(g.get("numOfHosts", 1)) for g in groups)


def uses_gpus(pod: Object) -> bool:
    """Whether any container of the pod asks for GPUs."""
    resources = [c.get("resources") or {} for c in pod["spec"]["containers"]]
    return any(GPU in (r.get("limits") or {}) or GPU in (r.get("requests") or {}) for r in resources)


def job_status(job: Object) -> tuple[str, str]:
    """What Ray says of the job (RUNNING, SUCCEEDED …) and KubeRay of its own work (Suspended, Complete …)."""
    status = job.get("status") or {}
    return str(status.get("jobStatus", "")), str(status.get("jobDeploymentStatus", ""))


def why_waiting(workload: Object) -> str:
    """The engine's sentence why the Workload has no quota; empty where it has, or has not said so yet."""
    reserved = condition(workload, "QuotaReserved")
    return str(reserved.get("message", "")) if reserved.get("status") == "False" else ""
