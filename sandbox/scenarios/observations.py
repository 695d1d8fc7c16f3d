"""The objects observed by watches, with lookups for scenarios and the timeline. Pure."""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field

from muster.objects.names import REQUEST_LABEL
from sandbox.cluster.kinds import Object, condition, is_true, key

JOB_NAME_LABEL = "batch.kubernetes.io/job-name"
RAY_CLUSTER_LABEL = "ray.io/cluster"


@dataclass(frozen=True)
class ObservedChange:
    """A change of an object, `at` seconds after the start of the scenario; a deleted object has its last
    state."""

    at: float
    kind: str
    obj: Object
    deleted: bool = False


@dataclass(frozen=True)
class JobRef:
    """A RayJob, RayCluster or RayService of the scenario."""

    kind: str
    namespace: str
    name: str


@dataclass
class ObservedObjects:
    """The last observed state of all objects."""

    objects: dict[str, dict[tuple[str, str], Object]] = field(default_factory=dict)

    def apply(self, change: ObservedChange) -> None:
        """Applies a change."""
        by_key = self.objects.setdefault(change.kind, {})
        if change.deleted:
            by_key.pop(key(change.obj), None)
        else:
            by_key[key(change.obj)] = change.obj

    def all(self, kind: str) -> Iterator[Object]:
        """Returns all objects of a kind."""
        return iter(self.objects.get(kind, {}).values())

    def job(self, ref: JobRef) -> Object:
        """Returns the job, or an empty dictionary."""
        return self.objects.get(ref.kind, {}).get((ref.namespace, ref.name), {})

    def workload(self, ref: JobRef) -> Object:
        """Returns the job's Workload, or an empty dictionary."""
        return self._owned_by("Workload", self.job(ref))

    def ray_cluster(self, ref: JobRef) -> Object:
        """Returns the RayCluster of a RayJob or RayService, or an empty dictionary."""
        return self._owned_by("RayCluster", self.job(ref))

    def pod_group(self, ref: JobRef) -> Object:
        """Returns the job's PodGroup, created by KAI, or an empty dictionary."""
        return self._owned_by("PodGroup", self.job(ref))

    def pods(self, ref: JobRef) -> list[Object]:
        """Returns all pods of the job: its Ray clusters' and its submitter's."""
        return [p for p in self.all("Pod") if key(p)[0] == ref.namespace and _pod_of(p, ref)]

    def gang(self, ref: JobRef) -> list[Object]:
        """Returns the job's head and worker pods."""
        return [p for p in self.pods(ref) if RAY_CLUSTER_LABEL in labels(p)]

    def request(self, ref: JobRef) -> Object:
        """Returns the Workload's provisioned request, else any of its requests, else an empty dictionary."""
        workload = self.workload(ref)
        requests = [r for r in self.all("ProvisioningRequest") if workload and owned(r, workload)]
        return next((r for r in requests if is_true(r, "Provisioned")), requests[0] if requests else {})

    def nodes(self, resize_name: str) -> list[Object]:
        """Returns the nodes that were created for a request."""
        return [n for n in self.all("Node") if labels(n).get(REQUEST_LABEL) == resize_name]

    def _owned_by(self, kind: str, job: Object) -> Object:
        return next((o for o in self.all(kind) if job and owned(o, job)), {})


def _pod_of(pod: Object, ref: JobRef) -> bool:
    cluster = labels(pod).get(RAY_CLUSTER_LABEL, "")
    if ref.kind == "RayCluster":
        return cluster == ref.name
    # KubeRay names clusters `<job>-<5 characters>`; after a suspension, only the name links them to the job.
    return cluster.rpartition("-")[0] == ref.name or labels(pod).get(JOB_NAME_LABEL) == ref.name


def labels(obj: Object) -> dict[str, str]:
    """Returns the object's labels."""
    return obj["metadata"].get("labels") or {}


def owned(obj: Object, owner: Object) -> bool:
    """Returns whether `owner` is among the object's owners."""
    references = obj["metadata"].get("ownerReferences") or []
    return any(r["uid"] == owner["metadata"]["uid"] for r in references)


def job_status(job: Object) -> tuple[str, str]:
    """Returns a RayJob's job status (such as RUNNING) and deployment status (such as Suspended)."""
    status = job.get("status") or {}
    return str(status.get("jobStatus", "")), str(status.get("jobDeploymentStatus", ""))


def why_waiting(workload: Object) -> str:
    """Returns the engine's message why the Workload has no quota; empty if it has quota or there is no
    message yet."""
    reserved = condition(workload, "QuotaReserved")
    return str(reserved.get("message", "")) if reserved.get("status") == "False" else ""


def seconds(rfc3339: str) -> float:
    """Converts a time of the API to seconds since the epoch."""
    return datetime.datetime.fromisoformat(rfc3339).timestamp()
