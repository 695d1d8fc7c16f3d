"""KubeRay's RayServices: one cluster each, as in v1.6.2 and in v1.7.0.

v1.6.2 suspends and resumes the cluster in place, by rayClusterConfig.suspend. It reports a service only while
its cluster has a head: if it is suspended, Ready and observedGeneration stay as they were. v1.7.0 deletes the
cluster of a service with spec.suspend, and creates another (handleSuspend); it copies
rayClusterConfig.suspend to a new cluster only. Left out: upgrades (Muster refuses services that may), Ray
Serve. Source: ray-operator/controllers/ray/rayservice_controller.go.
"""

import contextlib
from random import Random

from muster.kube import kinds
from muster.objects.meta import rfc3339
from muster.objects.ray import CLUSTER_LABEL, ORIGIN_LABEL, VERSION_ANNOTATION
from tests.simulation.api import Api, Body, Refused, key_of
from tests.simulation.kuberay import groups_fault, is_others
from tests.simulation.kuberay_pods import GROUP_LABEL
from tests.simulation.operators import BY, Operator, owned, owner_uids

FINALIZER = "ray.io/rayservice-finalizer"
VERSIONS = IN_PLACE, BY_DELETION = "v1.6.2", "v1.7.0"  # of KubeRay


class RayServices(Operator):
    """KubeRay's controller of RayServices; `busy_with` is the service that it reconciles, as read."""

    busy_with: Body | None = None

    def __init__(self, api: Api, random: Random, version: str = IN_PLACE) -> None:
        super().__init__(api, random)
        self.version = version

    async def run(self) -> None:
        while True:
            await self._pause()
            for key in list(self._api.objects[kinds.RAY_SERVICES]):
                with contextlib.suppress(Refused):
                    await self._reconcile(self._api.get(kinds.RAY_SERVICES, key))

    async def _reconcile(self, service: Body) -> None:
        if is_others(service):
            return
        if "deletionTimestamp" in service["metadata"]:
            self._take_away(service)
            return
        service = self._keep(kinds.RAY_SERVICES, service, FINALIZER)
        fault = groups_fault(service["spec"]["rayClusterConfig"])
        if fault:
            self._tell_ready(service, "False", "ValidationFailed", fault)
            return
        if self.version == BY_DELETION:
            service = await self._suspended_or_resumed(service)
            if _stage(service):
                return
        cluster = self._cluster_of(service)
        self.busy_with = service
        await self._think()
        self.busy_with = None
        if cluster is None:
            self._make_cluster(service)
            return
        spec = service["spec"]["rayClusterConfig"]
        if self.version == IN_PLACE and bool(spec["suspend"]) != bool(cluster["spec"]["suspend"]):
            cluster = self._patch(kinds.RAY_CLUSTERS, cluster, {"spec": spec})
            await self._think()
        if self._has_head(cluster):
            self._tell(service, cluster)

    async def _suspended_or_resumed(self, service: Body) -> Body:
        """Takes one step of a suspension, which is always completed, or of a resumption."""
        suspend, stage = bool(service["spec"].get("suspend")), _stage(service)
        if stage == "Suspended" and not suspend:
            return self._tell_stage(service, "", "Initializing")
        if stage == "" and suspend:
            return self._tell_stage(service, "Suspending", "SuspendInProgress")
        if stage == "Suspending":
            await self._think()
            clusters = [c for c in self._api.all(kinds.RAY_CLUSTERS) if _uid(service) in owner_uids(c)]
            for cluster in clusters:
                if "deletionTimestamp" not in cluster["metadata"]:
                    self._delete(kinds.RAY_CLUSTERS, key_of(cluster))
            if not clusters:
                return self._tell_stage(service, "Suspended", "SuspendComplete")
        return service

    def _tell_stage(self, service: Body, stage: str, reason: str) -> Body:
        others = [self._condition(s, str(s == stage), reason) for s in ("Suspending", "Suspended")]
        conditions = [self._condition("Ready", "False", reason), *others]
        status: Body = {"conditions": conditions, "observedGeneration": service["metadata"]["generation"]}
        if stage == "Suspending":
            status["pendingServiceStatus"] = None
        return self._patch(kinds.RAY_SERVICES, service, {"status": status}, status=True)

    def _take_away(self, service: Body) -> None:
        cluster = self._cluster_of(service)
        if cluster is None:
            self._let_go(kinds.RAY_SERVICES, service, FINALIZER)
        elif "deletionTimestamp" not in cluster["metadata"]:
            self._delete(kinds.RAY_CLUSTERS, key_of(cluster))

    def _make_cluster(self, service: Body) -> None:
        """Writes the name to the status first, so that no second cluster is created."""
        name = service.get("status", {}).get("pendingServiceStatus", {}).get("rayClusterName")
        if name is None:
            status = {
                "observedGeneration": service["metadata"]["generation"],
                "pendingServiceStatus": {"rayClusterName": self._new_name(service)},
            }
            self._patch(kinds.RAY_SERVICES, service, {"status": status}, status=True)
            return
        key = f"{service['metadata']['namespace']}/{name}"
        labels = {**service["metadata"]["labels"], ORIGIN_LABEL: kinds.RAY_SERVICES.name}
        annotations = {**service["metadata"].get("annotations", {}), VERSION_ANNOTATION: self.version}
        meta = {**owned(kinds.RAY_SERVICES, service, key), "labels": labels, "annotations": annotations}
        self._api.create(
            kinds.RAY_CLUSTERS, {"metadata": meta, "spec": service["spec"]["rayClusterConfig"]}, BY
        )

    def _tell(self, service: Body, cluster: Body) -> None:
        ready = cluster.get("status", {}).get("state") == "ready" and not cluster["spec"]["suspend"]
        self._tell_ready(service, str(ready), "NonZeroServeEndpoints" if ready else "ZeroServeEndpoints", "")

    def _tell_ready(self, service: Body, ready: str, reason: str, message: str) -> None:
        before, *others = service.get("status", {}).get("conditions", [{}])
        if (before.get("status"), before.get("reason")) != (ready, reason):
            status: Body = {"conditions": [self._condition("Ready", ready, reason, message), *others]}
            if reason != "ValidationFailed":
                status["observedGeneration"] = service["metadata"]["generation"]
            self._patch(kinds.RAY_SERVICES, service, {"status": status}, status=True)

    def _condition(self, kind: str, status: str, reason: str, message: str = "") -> Body:
        return {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": rfc3339(self._api.now_ms()),
        }

    def _cluster_of(self, service: Body) -> Body | None:
        name = service.get("status", {}).get("pendingServiceStatus", {}).get("rayClusterName")
        return self._api.find(kinds.RAY_CLUSTERS, f"{service['metadata']['namespace']}/{name}")

    def _has_head(self, cluster: Body) -> bool:
        head_labels = {CLUSTER_LABEL: cluster["metadata"]["name"], GROUP_LABEL: "head"}
        pods = (p["metadata"]["labels"] for p in self._api.all(kinds.PODS))
        return any(head_labels.items() <= labels.items() for labels in pods)


def pruned(version: str, service: Body) -> Body:
    """Returns the service as the API server stores it with the CRDs of this version."""
    if version == BY_DELETION or "suspend" not in service["spec"]:
        return service
    return {**service, "spec": {k: v for k, v in service["spec"].items() if k != "suspend"}}


def _uid(service: Body) -> str:
    return str(service["metadata"]["uid"])


def _stage(service: Body) -> str:
    """Returns Suspending, Suspended or an empty string."""
    conditions = service.get("status", {}).get("conditions", [])
    return next((c["type"] for c in conditions if c["type"] != "Ready" and c["status"] == "True"), "")


def is_ready(service: Body) -> bool:
    """Returns whether its status has the condition."""
    return any(
        c["type"] == "Ready" and c["status"] == "True"
        for c in service.get("status", {}).get("conditions", [])
    )
