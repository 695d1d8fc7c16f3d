"""Builders of test objects: a job, its Workload, and the platform around them."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import msgspec

from muster.cluster import job_workload
from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.job import Job
from muster.cluster.jobs.jobset import JobSetGang
from muster.cluster.jobs.raycluster import RayClusterGang
from muster.cluster.jobs.rayjob import RayJobGang
from muster.cluster.jobs.rayservice import RayServiceGang
from muster.cluster.queue_counts import QueueCounts
from muster.cluster.watched_kinds import WATCHED, WATCHED_WITH_TOPOLOGIES
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.passes.queue_status import all_queues, queue_status
from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.objects import kueue
from muster.objects.meta import rfc3339
from muster.objects.names import RESOURCE_IN_USE, WORKLOAD_UID_LABEL
from muster.objects.ray import CLUSTER_LABEL, GROUP_LABEL
from tests.simulation.manifests import CHECK, GPU, local_stack
from tests.simulation.manifests import workload as manifest_of_workload

Body = dict[str, Any]
NOW_MS = 1_800_000_000_000
CREATED = rfc3339(NOW_MS - 60_000)
REQUEST = "rayjob-dev-0b2fb-queued-provisioning-1"


def read(kind: Kind[Any], body: Mapping[str, Any]) -> Any:
    return msgspec.json.decode(msgspec.json.encode(body), type=kind.view)


def stored(body: Mapping[str, Any], **meta: Any) -> Body:
    """Returns it as the API server stores it, with UID `uid-<name>`, version and times."""
    new = deepcopy(dict(body))
    name = new["metadata"]["name"]
    identity = {"uid": f"uid-{name}", "resourceVersion": "7", "creationTimestamp": CREATED}
    new["metadata"] = {**new["metadata"], **identity, **meta}
    return new


def job(body: Mapping[str, Any], *clusters: Body, **meta: Any) -> Job:
    """A JobSet, RayJob, RayCluster or RayService (with its RayClusters) as a Job."""
    if "replicatedJobs" in body["spec"]:
        return JobSetGang(read(kinds.JOB_SETS, stored(body, **meta)))
    if "rayClusterConfig" in body["spec"]:
        created = [RayClusterGang(read(kinds.RAY_CLUSTERS, stored(c))) for c in clusters]
        return RayServiceGang(read(kinds.RAY_SERVICES, stored(body, **meta)), *created)
    if "rayClusterSpec" in body["spec"] or "clusterSelector" in body["spec"]:
        return RayJobGang(read(kinds.RAY_JOBS, stored(body, **meta)))
    return RayClusterGang(read(kinds.RAY_CLUSTERS, stored(body, **meta)))


def queue_statuses(cluster: ClusterState) -> list[PlannedWrite]:
    """Returns the writes of the statuses of queues and checks that are not right."""
    counts = QueueCounts.of(cluster)
    writes = (queue_status(queue, cluster, counts, NOW_MS) for queue in all_queues(cluster))
    return [planned for planned in writes if planned is not None]


def workload_body(
    of: Mapping[str, Any], *true: str, check: str = "", tries: int = 0, active: bool = True, **meta: Any
) -> Body:
    """Returns the Workload of a job with these conditions True; with QuotaReserved it has a full admission.

    `check` is the state of the provisioning check; `meta` overrides metadata."""
    return workload_of(job(of), *true, check=check, tries=tries, active=active, **meta)


def workload_of(
    view: Job, *true: str, check: str = "", tries: int = 0, active: bool = True, **meta: Any
) -> Body:
    """Like `workload_body`, for a job of any kind."""
    body = stored(job_workload.make_workload(view, make_cluster()).body, **meta)
    body["spec"]["active"] = active
    body["status"] = {"conditions": [PODS_READY if k == "PodsReady" else condition(k) for k in true]}
    if "QuotaReserved" in true:
        body["status"]["admission"] = admission(body)
    if check:
        state = {
            "name": CHECK,
            "state": check,
            "retryCount": tries,
            "message": "",
            "lastTransitionTime": CREATED,
        }
        body["status"]["admissionChecks"] = [state]
    return body


def workload_without_job(name: str, *true: str, pods: int = 4, priority: int = 100, **meta: Any) -> Body:
    """Returns a Workload that a user or another controller created, with these conditions True."""
    body = stored(manifest_of_workload(name, pods=pods, priority=priority), **meta)
    body["status"] = {"conditions": [condition(kind) for kind in true]}
    if "QuotaReserved" in true:
        body["status"]["admission"] = admission(body)
    return body


def workload(of: Mapping[str, Any], *true: str, **fields: Any) -> kueue.Workload:
    parsed: kueue.Workload = read(kinds.WORKLOADS, workload_body(of, *true, **fields))
    return parsed


def condition(kind: str, status: bool = True, reason: str = "", message: str = "as before") -> Body:
    reason = reason or kind
    body = {"type": kind, "status": str(status), "reason": reason, "message": message}
    return {**body, "lastTransitionTime": CREATED}


PODS_READY = condition(
    "PodsReady", reason="Started", message="All pods reached readiness and the workload is running"
)


def admission(body: Mapping[str, Any]) -> Body:
    """Returns an admission with heads and submitters on cpu, workers on l4."""
    assignments = []
    for pod_set in body["spec"]["podSets"]:
        template = msgspec.json.decode(msgspec.json.encode(pod_set["template"]))
        flavor = "l4" if GPU in str(template) else "cpu"
        usage = {"cpu": str(pod_set["count"])} | ({GPU: str(pod_set["count"])} if flavor == "l4" else {})
        flavors = dict.fromkeys(usage, flavor)
        assignments.append(
            {"name": pod_set["name"], "count": pod_set["count"], "flavors": flavors, "resourceUsage": usage}
        )
    return {"clusterQueue": "team-a", "podSetAssignments": assignments}


def pod(of: str, name: str = "pod", phase: str = "Running", **over: Any) -> Body:
    """A pod of the Workload with the UID `of`, created for a deleted RayCluster; `over` goes over
    its metadata."""
    labels = {WORKLOAD_UID_LABEL: of, CLUSTER_LABEL: "dev-raycluster", GROUP_LABEL: "gpu"}
    meta: Body = {"name": name, "namespace": "team-a", "labels": labels}
    meta["ownerReferences"] = [controlled_by(kinds.RAY_CLUSTERS, "dev-raycluster")]
    return stored({"metadata": meta, "status": {"phase": phase}}, **over)


def controlled_by(kind: Kind[Any], name: str, uid: str = "") -> Body:
    """An owner reference."""
    uid = uid or f"uid-{name}"
    return {"apiVersion": kind.api_version, "kind": kind.name, "name": name, "uid": uid, "controller": True}


def request(
    *true: str, name: str = REQUEST, owner: str = "", message: str = "says the cloud", **meta: Any
) -> Body:
    """A ProvisioningRequest of the Workload with UID `owner`, for the pod set `gpu`."""
    reference = controlled_by(kinds.WORKLOADS, "rayjob-dev-0b2fb", owner)
    return stored(
        {
            "metadata": {"name": name, "namespace": "team-a", "ownerReferences": [reference]},
            "spec": {
                "provisioningClassName": "queued-provisioning.gke.io",
                "podSets": [{"podTemplateRef": {"name": f"ppt-{name}-gpu"}, "count": 4}],
            },
            "status": {
                "conditions": [condition(kind, message=message) for kind in true],
                "provisioningClassDetails": {"ResizeRequestName": "resize-1"}
                if "Provisioned" in true
                else {},
            },
        },
        **meta,
    )


def request_template(owner: str = f"uid-{REQUEST}", name: str = f"ppt-{REQUEST}-gpu", **meta: Any) -> Body:
    """The PodTemplate of a ProvisioningRequest; `owner` is the UID of its controller, if it has one."""
    references = [{"uid": owner, "controller": True}] if owner else []
    of = {"name": name, "namespace": "team-a", "ownerReferences": references}
    return stored({"metadata": of, "template": {}}, **meta)


def make_cluster(
    objects: Mapping[Kind[Any], Sequence[Body]] | None = None, retry: Mapping[str, int] | None = None
) -> ClusterState:
    """Returns a cluster of the stack `local`; a kind in `objects` replaces the stack's objects."""
    bodies = {**local_stack(retry=retry), **(objects or {})}
    followed = (*WATCHED, *WATCHED_WITH_TOPOLOGIES)
    return ClusterState({kind: by_key(kind, bodies.get(kind, ())) for kind in followed})


def by_key(kind: Kind[Any], bodies: Sequence[Body]) -> dict[str, Any]:
    """Returns the objects by key, with the finalizers that an earlier pass added."""
    retained = kind in (kinds.CLUSTER_QUEUES, kinds.FLAVORS, kinds.CHECKS)
    meta = {"finalizers": [RESOURCE_IN_USE]} if retained else {}
    objects = (read(kind, b if "uid" in b["metadata"] else stored(b, **meta)) for b in bodies)
    return {o.key: o for o in objects}


def limit_range(namespace: str = "team-a", **of_containers: Body) -> Body:
    limits = [{"type": "Container", **of_containers}]
    return stored({"metadata": {"name": "limits", "namespace": namespace}, "spec": {"limits": limits}})


def runtime_class(name: str = "gvisor", **overhead: str) -> Body:
    return {"metadata": {"name": name}, "overhead": {"podFixed": overhead}}
