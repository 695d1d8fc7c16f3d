"""The objects that KubeRay would create for a gang, as far as the API server may refuse them.

KubeRay creates no pod of a RayCluster before its head's Service, and no pod that the API server refuses: the
gang would hold quota without running. Source: KubeRay v1.6.2 ray-operator/controllers/ray/common (pod.go,
service.go) and raycluster_controller.go (reconcileHeadService, reconcilePods). Left out: names that KubeRay
generates, its environment variables, probes and volumes, and Ingresses.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from muster.controller.jobs.gang import HEAD, PodSetTemplate
from muster.controller.jobs.job import Job
from muster.kube.kinds import PODS, SERVICES
from muster.kube.writes import Create
from muster.objects.ray import RayClusterSpec

GENERATED_NAME = "muster-dry-run-"
DEFAULT_PORTS = {"client": 10001, "gcs-server": 6379, "dashboard": 8265, "metrics": 8080, "serve": 8000}
Body = dict[str, Any]


def dry_runs(job: Job) -> Iterator[tuple[str, Create]]:
    """Yields each object to create in a dry run, with its name for messages."""
    namespace = job.metadata.namespace
    for entry in job.pod_set_templates:
        yield f"pods of pod set {entry.pod_set!r}", Create(PODS, _pod(namespace, entry))
    head: Body = msgspec.json.decode(job.cluster_spec.head_group_spec.template)
    yield "the head's Service", Create(SERVICES, _head_service(namespace, job.cluster_spec, head))
    if job.serve_service is not None:
        yield "spec.serveService", Create(SERVICES, _serve_service(namespace, job.serve_service))


def _pod(namespace: str, entry: PodSetTemplate) -> Body:
    template: Body = msgspec.json.decode(entry.created)
    meta = dict(template.get("metadata") or {})
    if entry.pod_set != HEAD:  # KubeRay generates the names of all others
        meta.pop("name", None)
    return {"metadata": _named(meta, namespace), "spec": template.get("spec") or {}}


def _head_service(namespace: str, spec: RayClusterSpec, head: Mapping[str, Any]) -> Body:
    group = spec.head_group_spec
    given = group.head_service or {}
    meta = dict(given.get("metadata") or {})
    meta["annotations"] = {**(meta.get("annotations") or {}), **spec.head_service_annotations}
    service_spec: Body = {"type": group.service_type or "ClusterIP", **(given.get("spec") or {})}
    if group.head_service is None and service_spec["type"] == "ClusterIP":
        service_spec["clusterIP"] = "None"
    ray_container = (head["spec"]["containers"] or [{}])[0]
    service_spec["ports"] = [*(service_spec.get("ports") or ()), *_ports(ray_container)]
    service_spec["selector"] = {"ray.io/node-type": "head"}  # KubeRay overrides the user's
    return {"metadata": _named(meta, namespace), "spec": service_spec}


def _ports(container: Mapping[str, Any]) -> list[Body]:
    """Returns the ports by name; the last of a name counts."""
    declared = container.get("ports") or ()
    named = {p.get("name") or f"{p['containerPort']}-port": p["containerPort"] for p in declared}
    named = named or DEFAULT_PORTS
    return [{"name": name, "port": port} for name, port in {"metrics": 8080, **named}.items()]


def _serve_service(namespace: str, given: Mapping[str, Any]) -> Body:
    spec = dict(given.get("spec") or {})
    spec["ports"] = spec.get("ports") or [{"name": "serve", "port": DEFAULT_PORTS["serve"]}]
    return {"metadata": _named(dict(given.get("metadata") or {}), namespace), "spec": spec}


def _named(meta: Body, namespace: str) -> Body:
    """Keeps the name, if one is given, and replaces the namespace, as KubeRay does."""
    return {**meta, "namespace": namespace, **({} if meta.get("name") else {"generateName": GENERATED_NAME})}
