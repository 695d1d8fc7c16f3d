"""Jobs and JobSets of a team, for requests to the API server."""

from typing import Any

from tests.stacks.dry_runs import Manifest
from tests.stacks.ray_requests import QUEUE

NAMESPACE = "team-a"
POD = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
GPUS = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
GPU_POD = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox", **GPUS}]}


def batch_job(name: str = "new", *, queue: str = "user-queue", labels: Any = None, **spec: Any) -> Manifest:
    """Returns a Job of two pods with these labels."""
    meta: Manifest = {"name": name, "namespace": NAMESPACE, "labels": {QUEUE: queue} if queue else {}}
    template = {"metadata": {"labels": labels or {}}, "spec": POD}
    body = {"parallelism": 2, "template": template, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": body}


def job_set(name: str = "new", *, queue: str = "user-queue", labels: Any = None, **spec: Any) -> Manifest:
    """Returns a JobSet of two Jobs of two pods with these labels."""
    meta: Manifest = {"name": name, "namespace": NAMESPACE, "labels": {QUEUE: queue} if queue else {}}
    body = {"replicatedJobs": [replicated_job(labels=labels)], **spec}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": meta, "spec": body}


def replicated_job(name: str = "workers", *, labels: Any = None, pod: Manifest = POD) -> Manifest:
    template = {"metadata": {"labels": labels or {}}, "spec": pod}
    return {"name": name, "replicas": 2, "template": {"spec": {"parallelism": 2, "template": template}}}
