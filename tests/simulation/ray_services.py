"""KubeRay's RayServices: one cluster each, suspended and resumed in place, as in v1.6.2.

It reports a service only while its cluster has a head: if it is suspended, Ready and
observedGeneration stay as they were. Left out: upgrades (Muster refuses services that may), Ray Serve.
Source: ray-operator/controllers/ray/rayservice_controller.go.
"""

import contextlib

from muster.kube import kinds
from muster.objects.meta import rfc3339
from muster.objects.ray import CLUSTER_LABEL, ORIGIN_LABEL
from tests.simulation.api import Body, Refused, key_of
from tests.simulation.kuberay import groups_fault, is_others
from tests.simulation.kuberay_pods import GROUP_LABEL
from tests.simulation.operators import BY, Operator, owned

FINALIZER = "ray.io/rayservice-finalizer"


class RayServices(Operator):
    """KubeRay's controller of RayServices; `busy_with` is the service that it reconciles, as read."""

    busy_with: Body | None = None

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
        cluster = self._cluster_of(service)
        self.busy_with = service
        await self._think()
        self.busy_with = None
        if cluster is None:
            self._make_cluster(service)
            return
        spec = service["spec"]["rayClusterConfig"]
        if bool(spec["suspend"]) != bool(cluster["spec"]["suspend"]):
            cluster = self._patch(kinds.RAY_CLUSTERS, cluster, {"spec": spec})
            await self._think()
        if self._has_head(cluster):
            self._tell(service, cluster)

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
        meta = {**owned(kinds.RAY_SERVICES, service, key), "labels": labels}
        self._api.create(
            kinds.RAY_CLUSTERS, {"metadata": meta, "spec": service["spec"]["rayClusterConfig"]}, BY
        )

    def _tell(self, service: Body, cluster: Body) -> None:
        ready = cluster.get("status", {}).get("state") == "ready" and not cluster["spec"]["suspend"]
        self._tell_ready(service, str(ready), "NonZeroServeEndpoints" if ready else "ZeroServeEndpoints", "")

    def _tell_ready(self, service: Body, ready: str, reason: str, message: str) -> None:
        condition = {
            "type": "Ready",
            "status": ready,
            "reason": reason,
            "message": message,
            "lastTransitionTime": rfc3339(self._api.now_ms()),
        }
        before = service.get("status", {}).get("conditions", [{}])[0]
        if (before.get("status"), before.get("reason")) != (ready, reason):
            status: Body = {"conditions": [condition]}
            if reason != "ValidationFailed":
                status["observedGeneration"] = service["metadata"]["generation"]
            self._patch(kinds.RAY_SERVICES, service, {"status": status}, status=True)

    def _cluster_of(self, service: Body) -> Body | None:
        name = service.get("status", {}).get("pendingServiceStatus", {}).get("rayClusterName")
        return self._api.find(kinds.RAY_CLUSTERS, f"{service['metadata']['namespace']}/{name}")

    def _has_head(self, cluster: Body) -> bool:
        head_labels = {CLUSTER_LABEL: cluster["metadata"]["name"], GROUP_LABEL: "head"}
        pods = (p["metadata"]["labels"] for p in self._api.all(kinds.PODS))
        return any(head_labels.items() <= labels.items() for labels in pods)


def is_ready(service: Body) -> bool:
    """Returns whether its status has the condition."""
    return any(
        c["type"] == "Ready" and c["status"] == "True"
        for c in service.get("status", {}).get("conditions", [])
    )
