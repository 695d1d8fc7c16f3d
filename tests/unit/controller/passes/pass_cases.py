"""Clusters in which a pass writes, and the writes that are expected."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from muster.cluster.job_workload import workload_name
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.passes.pass_plan import PassPlan
from muster.controller.passes.reconcile import reconcile
from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.kube.writes import JsonPatch, MergePatch, Overwrite
from muster.objects.meta import rfc3339
from muster.objects.names import WORKLOAD_UID_LABEL
from muster.objects.ray import ORIGIN_LABEL
from tests.simulation.manifests import (
    CHECK,
    PREEMPTION,
    cluster_queue,
    quotas,
    ray_cluster,
    ray_job,
    ray_service,
)
from tests.unit.controller.builders import (
    NOW_MS,
    REQUEST,
    Body,
    controlled_by,
    make_cluster,
    stored,
    workload_body,
)

DEV, PROD = "rayjob-dev-0b2fb", "rayjob-prod-7b627"


LLM = workload_name("RayService", "ray.io/v1", "llm", "uid-llm")


JOB_KIND_OF = {"llm": kinds.RAY_SERVICES}


Objects = dict[Kind[Any], list[Body]]


LEAVING: dict[str, Any] = {"deletionTimestamp": "2027-01-15T08:00:00Z"}


def dev(
    state: str = "Suspended",
    *,
    suspend: bool = True,
    status: Body | None = None,
    spec: Body | None = None,
    **meta: Any,
) -> Body:
    body = ray_job("dev", suspend=suspend, **(spec or {}))
    return stored({**body, "status": {"jobDeploymentStatus": state, **(status or {})}}, **meta)


def prod() -> Body:
    body = ray_job("prod", priority="prod-priority")
    return stored({**body, "status": {"jobDeploymentStatus": "Suspended"}})


def of_dev(*true: str, **fields: Any) -> Body:
    return workload_body(ray_job("dev"), *true, **fields)


def of_prod() -> Body:
    return workload_body(ray_job("prod", priority="prod-priority"))


def child(of: str = "dev", *, suspend: bool = False, rests: bool = False) -> Body:
    """Returns the RayCluster that KubeRay created for a job."""
    body = ray_cluster(f"{of}-1")
    body["spec"]["suspend"] = suspend
    body["status"] = {"conditions": [{"type": "RayClusterSuspended", "status": str(rests)}]}
    kind = JOB_KIND_OF.get(of, kinds.RAY_JOBS)
    return stored(body, ownerReferences=[controlled_by(kind, of)], labels={ORIGIN_LABEL: kind.name})


def service(*, suspend: bool = True, placed: bool = False) -> Body:
    """`placed`: as after a start on flavors without node labels."""
    body = ray_service("llm", workers=4)
    body["spec"]["rayClusterConfig"]["suspend"] = suspend
    if placed:
        head = body["spec"]["rayClusterConfig"]["headGroupSpec"]
        head["template"] = {**head["template"], "metadata": {"labels": {WORKLOAD_UID_LABEL: f"uid-{LLM}"}}}
    return stored(body)


def queues(check: bool = False, **spec: Any) -> Objects:
    """Returns a ClusterQueue with quota for one gang of four."""
    flavors = quotas("cpu", cpu=8, memory="64Gi", gpu=0), quotas("l4", cpu=16, memory="64Gi", gpu=4)
    spec = {"preemption": PREEMPTION, **spec}
    return {kinds.CLUSTER_QUEUES: [cluster_queue("team-a", *flavors, check=check, **spec)]}


def cluster(*objects: Body, **kwargs: Any) -> Objects:
    """Returns the objects by kind, as determined by their fields."""
    sorted_out: Objects = {}
    for body in objects:
        sorted_out.setdefault(kind_of(body), []).append(body)
    return {**queues(**kwargs), **sorted_out}


def kind_of(body: Body) -> Kind[Any]:
    name, spec = body["metadata"]["name"], body.get("spec", {})
    if "podSets" in spec:
        return kinds.PROVISIONING_REQUESTS if CHECK in name else kinds.WORKLOADS
    if "headGroupSpec" in spec:
        return kinds.RAY_CLUSTERS
    if "template" in body:
        return kinds.POD_TEMPLATES
    if "rayClusterConfig" in spec:
        return kinds.RAY_SERVICES
    return kinds.RAY_JOBS if "rayClusterSpec" in spec else kinds.PODS


def described(planned: PlannedWrite) -> str:
    """Summarizes a write: for a status its true conditions, states of checks, and the reason to wait."""
    write = planned.write
    if isinstance(write, JsonPatch):
        suspends = [op["value"] for op in write.operations if op["path"].endswith("/suspend")]
        assert set(suspends) == {False}
        return f"start {write.key.rpartition('/')[2]}"
    if isinstance(write, Overwrite):
        return f"stop {write.key.rpartition('/')[2]}"
    if not isinstance(write, MergePatch):
        return str(write).replace("team-a/", "")
    name = write.key.rpartition("/")[2]
    if not write.status:
        return f"patch {name} {write.body.get('spec') or write.body['metadata']}"
    status: Mapping[str, Any] = write.body["status"]
    true = [c["type"] for c in status["conditions"] if c["status"] == "True"]
    reasons = [
        c["reason"] for c in status["conditions"] if c["type"] == "QuotaReserved" and c["status"] == "False"
    ]
    checks = [c["state"] for c in status.get("admissionChecks", ())]
    return " ".join([f"{name}:", *true, *(f"check={c}" for c in checks), *(f"waits={r}" for r in reasons)])


@dataclass
class Case:
    objects: Objects
    first: list[str] = field(default_factory=list)
    then: list[str] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)
    backing_off: set[str] = field(default_factory=set)
    stops: list[str] = field(default_factory=list)

    def run(self) -> PassPlan:
        return reconcile(make_cluster(self.objects), NOW_MS, self.backing_off)


HOLDS, RUNS = ("QuotaReserved",), ("QuotaReserved", "Admitted")


EVICTED = (*RUNS, "Evicted")


FINALIZER = {"finalizers": ["kueue.x-k8s.io/resource-in-use"]}


NO_REQUESTS = [f"delete PodTemplate ppt-{REQUEST}-gpu", f"delete ProvisioningRequest {REQUEST}"]


FAR = rfc3339(NOW_MS + 60_000)


def backing_off() -> Body:
    body = of_dev("Evicted", "Requeued")
    body["status"]["requeueState"] = {"count": 1, "requeueAt": FAR}
    return body


def check_writes(case: Case) -> None:
    result = case.run()
    assert [described(s) for s in result.writes.stops] == case.stops
    assert [described(s) for s in result.writes.before_reservations] == case.first
    assert [described(s) for s in result.writes.reservations] == case.then
    assert [described(s) for s in result.writes.wait_reasons] == case.waits
