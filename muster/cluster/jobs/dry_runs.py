"""Builds the objects that an operator would create for a gang and that the API server may refuse.

If the API server refuses the head's Service, KubeRay creates no pods; if it refuses a pod, the pod is
missing. In both cases the gang would hold quota without running. Source: KubeRay v1.6.2
ray-operator/controllers/ray/common/pod.go and raycluster_controller.go (reconcileHeadService,
reconcilePods). Omitted are generated names, the environment variables, probes and volumes that KubeRay adds,
and Ingresses.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from muster.cluster.jobs.gang import HEAD, PodSetTemplate
from muster.cluster.jobs.job import Job
from muster.kube.kinds import PODS, SERVICES
from muster.kube.writes import Create

GENERATED_NAME = "muster-dry-run-"
Body = dict[str, Any]


def dry_runs(job: Job) -> Iterator[tuple[str, Create]]:
    """Yields the objects to create in dry runs, each with a description for messages."""
    namespace = job.metadata.namespace
    for entry in job.pod_set_templates:
        yield f"pods of pod set {entry.pod_set!r}", Create(PODS, _pod(namespace, entry))
    for description, service in job.services():
        named = {**service, "metadata": _named(service["metadata"], namespace)}
        yield description, Create(SERVICES, named)


def _pod(namespace: str, entry: PodSetTemplate) -> Body:
    template: Body = msgspec.json.decode(entry.created)
    meta = dict(template.get("metadata") or {})
    if entry.pod_set != HEAD:  # operators generate the names of other pods
        meta.pop("name", None)
    return {"metadata": _named(meta, namespace), "spec": template.get("spec") or {}}


def _named(meta: Body, namespace: str) -> Body:
    """Returns the metadata with the job's namespace, as operators set it, and a generated name if it has
    none."""
    return {**meta, "namespace": namespace, **({} if meta.get("name") else {"generateName": GENERATED_NAME})}
