"""The Services that KubeRay creates for a Ray cluster, from what its user wrote.

Source: KubeRay v1.6.2 ray-operator/controllers/ray/common/service.go.
"""

from collections.abc import Mapping
from typing import Any

from muster.objects.ray import RayClusterSpec

DEFAULT_PORTS = {"client": 10001, "gcs-server": 6379, "dashboard": 8265, "metrics": 8080, "serve": 8000}
Body = dict[str, Any]


def head_service(spec: RayClusterSpec, head: Mapping[str, Any]) -> Body:
    """Returns the Service of the head as KubeRay would create it, without its name."""
    group = spec.head_group_spec
    user_service = group.head_service or {}
    meta = dict(user_service.get("metadata") or {})
    meta["annotations"] = {**(meta.get("annotations") or {}), **spec.head_service_annotations}
    service_spec: Body = {"type": group.service_type or "ClusterIP", **(user_service.get("spec") or {})}
    if group.head_service is None and service_spec["type"] == "ClusterIP":
        service_spec["clusterIP"] = "None"
    ray_container = (head["spec"]["containers"] or [{}])[0]
    service_spec["ports"] = [*(service_spec.get("ports") or ()), *_ports(ray_container)]
    service_spec["selector"] = {"ray.io/node-type": "head"}  # KubeRay overrides the user's
    return {"metadata": meta, "spec": service_spec}


def _ports(container: Mapping[str, Any]) -> list[Body]:
    """Returns the Service's ports. Of ports with the same name, the last one is used."""
    declared = container.get("ports") or ()
    named = {p.get("name") or f"{p['containerPort']}-port": p["containerPort"] for p in declared}
    named = named or DEFAULT_PORTS
    return [{"name": name, "port": port} for name, port in {"metrics": 8080, **named}.items()]


def serve_service(user_service: Mapping[str, Any]) -> Body:
    """Returns the Service of Ray Serve as KubeRay would create it, without its name."""
    spec = dict(user_service.get("spec") or {})
    spec["ports"] = spec.get("ports") or [{"name": "serve", "port": DEFAULT_PORTS["serve"]}]
    return {"metadata": dict(user_service.get("metadata") or {}), "spec": spec}
