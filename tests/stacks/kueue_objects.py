"""Workloads to create on an API server."""

from typing import Any

from tests.stacks.dry_runs import Manifest


def kueue(kind: str, spec: dict[str, Any], name: str = "new", **metadata: Any) -> Manifest:
    if kind in ("LocalQueue", "Workload"):
        metadata["namespace"] = "team-a"
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": {"name": name, **metadata},
        "spec": spec,
    }


def pod_set(name: str = "main", count: int = 2, **fields: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": fields.pop("requests", {"cpu": "1"})}}
    template = {"metadata": fields.pop("metadata", {}), "spec": {"containers": [container]}}
    return {"name": name, "count": count, "template": template, **fields}


def workload(*pod_sets: dict[str, Any], name: str = "new", **metadata: Any) -> Manifest:
    spec = {"queueName": "user-queue", "podSets": list(pod_sets) or [pod_set()]}
    return kueue("Workload", spec, name, **metadata)
