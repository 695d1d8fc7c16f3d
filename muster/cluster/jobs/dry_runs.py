"""Builds the objects that KubeRay would create for a gang and that the API server may refuse.

If the API server refuses the head's Service, KubeRay creates no pods; if it refuses a pod, the pod is
missing. In both cases the gang would hold quota without running. Source: KubeRay v1.6.2
ray-operator/controllers/ray/common (pod.go, service.go) and raycluster_controller.go (reconcileHeadService,
reconcilePods). Omitted are generated names, the environment variables, probes and volumes that KubeRay adds,
and Ingresses.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from muster.cluster.jobs.gang import HEAD, PodSetTemplate
from muster.cluster.jobs.job import Job
from muster.kube.kinds import PODS, SERVICES
from muster.kube.writes import Create
from muster.objects.ray import RayClusterSpec

GENERATED_NAME = "muster-dry-run-"
DEFAULT_PORTS = {"client": 10001, "gcs-server": 6379, "dashboard": 8265, "metrics": 8080, "serve": 8000}
Body = dict[str, Any]


def dry_runs(job: Job) -> Iterator[tuple[str, Create]]:
    """Yields the objects to create in dry runs, each with a description for messages."""
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
    if entry.pod_set != HEAD:  # KubeRay generates the names of worker and submitter pods
        meta.pop("name", None)
    return {"metadata": _named(meta, namespace), "spec": template.get("spec") or {}}


def _head_service(namespace: str, spec: RayClusterSpec, head: Mapping[str, Any]) -> Body:
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
    return {"metadata": _named(meta, namespace), "spec": service_spec}


def _ports(container: Mapping[str, Any]) -> list[Body]:
    """Returns the Service's ports. Of ports with the same name, the last one is used."""
    declared = container.get("ports") or ()
    named = {p.get("name") or f"{p['containerPort']}-port": p["containerPort"] for p in declared}
    named = named or DEFAULT_PORTS
    return [{"name": name, "port": port} for name, port in {"metrics": 8080, **named}.items()]


def _serve_service(namespace: str, user_service: Mapping[str, Any]) -> Body:
    spec = dict(user_service.get("spec") or {})
    spec["ports"] = spec.get("ports") or [{"name": "serve", "port": DEFAULT_PORTS["serve"]}]
    return {"metadata": _named(dict(user_service.get("metadata") or {}), namespace), "spec": spec}


def _named(meta: Body, namespace: str) -> Body:
    """Returns the metadata with the job's namespace, as KubeRay sets it, and a generated name if it has
    none."""
    return {**meta, "namespace": namespace, **({} if meta.get("name") else {"generateName": GENERATED_NAME})}
