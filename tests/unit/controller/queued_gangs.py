"""An autoscaled RayJob on a queued pool, with the requests for the nodes of its workers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.cluster.cluster_state import ClusterState
from muster.kube import kinds
from muster.objects.kueue import Workload
from muster.objects.meta import rfc3339
from muster.objects.names import (
    CLASS_ANNOTATION,
    CONSUME_ANNOTATION,
    GROWTH_ATTEMPT,
    GROWTH_GATE,
    GROWTH_LABEL,
    GROWTH_NUMBER,
    QUEUED_PROVISIONING_CLASS,
    REQUEST_LABEL,
)
from muster.objects.ray import ORIGIN_LABEL
from tests.simulation.manifests import CHECK, ray_cluster, ray_cluster_spec, ray_job
from tests.unit.controller.builders import (
    NOW_MS,
    REQUEST,
    Body,
    controlled_by,
    make_cluster,
    pod,
    request,
    request_template,
    stored,
    workload_body,
)

KEY = "team-a/rayjob-dev-0b2fb"
UID = "uid-rayjob-dev-0b2fb"
CLUSTER = "dev-raycluster"
MINIMUM = 2


def growth_name(number: int = 1) -> str:
    return REQUEST.removesuffix("-1") + f"-growth-gpu-{number}"


def growth(
    *true: str, number: int = 1, attempt: int = 1, count: int = 4, ago_s: int = 0, **meta: Any
) -> Body:
    """Returns a request for growth whose last condition was set some seconds ago."""
    name = growth_name(number)
    body = request(*true, name=name, owner=UID, message="out of stock", **meta)
    body["metadata"]["labels"] = {GROWTH_LABEL: "gpu"}
    body["metadata"]["annotations"] = {GROWTH_NUMBER: str(number), GROWTH_ATTEMPT: str(attempt)}
    body["metadata"]["creationTimestamp"] = rfc3339(NOW_MS - ago_s * 1000)
    body["spec"]["podSets"][0]["count"] = count
    for condition in body["status"]["conditions"]:
        condition["lastTransitionTime"] = rfc3339(NOW_MS - ago_s * 1000)
    if "Provisioned" in true:
        body["status"]["provisioningClassDetails"] = {"ResizeRequestName": f"resize-{name}"}
    return body


@dataclass
class QueuedGang:
    """A RayJob of two to eight workers, admitted with its nodes.

    `running` counts its workers by the request whose nodes they use; an empty name is that of the gang."""

    granted: int = MINIMUM
    replicas: int = MINIMUM
    cap: int = MINIMUM
    running: Mapping[str, int] | None = None
    gated: int = 0
    requests: tuple[Body, ...] = ()
    checks: tuple[str, ...] = (CHECK,)
    platform: Mapping[Any, list[Body]] | None = None

    def cluster(self) -> ClusterState:
        manifest = ray_job("dev", rayClusterSpec=_scaled(self.replicas, 8), suspend=False)
        body = workload_body(manifest, "QuotaReserved", "Admitted", check="Ready")
        (check,) = body["status"]["admissionChecks"]
        update = {
            "name": "gpu",
            "annotations": {CONSUME_ANNOTATION: REQUEST, CLASS_ANNOTATION: QUEUED_PROVISIONING_CLASS},
            "nodeSelector": {REQUEST_LABEL: "resize-1"},
        }
        states = [{**check, "name": name, "podSetUpdates": []} for name in self.checks]
        states[:1] = [{**state, "podSetUpdates": [update]} for state in states[:1]]
        body["status"]["admissionChecks"] = states
        for assigned in body["status"]["admission"]["podSetAssignments"]:
            if assigned["name"] == "gpu":
                assigned["count"] = self.granted
        child = ray_cluster(CLUSTER)
        child["spec"] = {**_scaled(self.replicas, self.cap), "suspend": False}
        meta = {"ownerReferences": [controlled_by(kinds.RAY_JOBS, "dev")], "labels": {ORIGIN_LABEL: "RayJob"}}
        own = request("Accepted", "Provisioned", owner=UID)
        own["spec"]["podSets"][0]["count"] = MINIMUM
        templates = [_template(r["metadata"]["name"]) for r in (own, *self.requests)]
        return make_cluster(
            {
                kinds.RAY_JOBS: [stored(manifest)],
                kinds.RAY_CLUSTERS: [stored(child, **meta)],
                kinds.WORKLOADS: [body],
                kinds.PODS: list(self._pods()),
                kinds.PROVISIONING_REQUESTS: [own, *self.requests],
                kinds.POD_TEMPLATES: templates,
                **(self.platform or {}),
            }
        )

    def workload(self) -> tuple[Workload, ClusterState]:
        cluster = self.cluster()
        return cluster.workloads[KEY], cluster

    def _pods(self) -> list[Body]:
        running = {REQUEST: MINIMUM} if self.running is None else self.running
        names = [name for name, count in running.items() for _ in range(count)]
        pods = []
        for number, name in enumerate([*names, *[""] * self.gated]):
            body = pod(UID, f"worker-{number}", "Running" if name else "Pending")
            body["spec"] = {} if name else {"schedulingGates": [{"name": GROWTH_GATE}]}
            body["metadata"]["annotations"] = {CONSUME_ANNOTATION: name} if name else {}
            pods.append(body)
        return pods


def _template(name: str) -> Body:
    return request_template(f"uid-{name}", f"ppt-{name}-gpu")


def _scaled(replicas: int, most: int) -> Body:
    group = {**ray_cluster_spec(replicas)["workerGroupSpecs"][0], "minReplicas": MINIMUM, "maxReplicas": most}
    return {**ray_cluster_spec(0), "enableInTreeAutoscaling": True, "workerGroupSpecs": [group]}
