"""Jobs, JobSets and LeaderWorkerSets of a team, for requests to the API server."""

from typing import Any

from tests.stacks.dry_runs import Manifest
from tests.stacks.ray_requests import QUEUE

NAMESPACE = "team-a"
POD = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
GPUS = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
GPU_POD = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox", **GPUS}]}

SERVER = {"containers": [{"name": "main", "image": "busybox"}]}
GPU_SERVER = {"containers": [{"name": "main", "image": "busybox", **GPUS}]}


def batch_job(name: str = "new", *, queue: str = "user-queue", labels: Any = None, **spec: Any) -> Manifest:
    """Returns a Job of two pods with these labels."""
    meta: Manifest = {"name": name, "namespace": NAMESPACE, "labels": {QUEUE: queue} if queue else {}}
    template = {"metadata": {"labels": labels or {}}, "spec": POD}
    body = {"parallelism": 2, "template": template, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": body}


def cron_job(name: str = "new") -> Manifest:
    """Returns a CronJob of queued Jobs."""
    meta = {"name": name, "namespace": NAMESPACE}
    job = batch_job()
    template = {"metadata": {"labels": job["metadata"]["labels"]}, "spec": job["spec"]}
    spec = {"schedule": "0 1 * * *", "jobTemplate": template}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": meta, "spec": spec}


def job_set(name: str = "new", *, queue: str = "user-queue", labels: Any = None, **spec: Any) -> Manifest:
    """Returns a JobSet of two Jobs of two pods with these labels."""
    meta: Manifest = {"name": name, "namespace": NAMESPACE, "labels": {QUEUE: queue} if queue else {}}
    body = {"replicatedJobs": [replicated_job(labels=labels)], **spec}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": meta, "spec": body}


def replicated_job(name: str = "workers", *, labels: Any = None, pod: Manifest = POD) -> Manifest:
    template = {"metadata": {"labels": labels or {}}, "spec": pod}
    return {"name": name, "replicas": 2, "template": {"spec": {"parallelism": 2, "template": template}}}


def leader_worker_set(
    name: str = "new",
    *,
    queue: str = "user-queue",
    labels: Any = None,
    leader: Manifest | None = None,
    worker: Manifest | None = None,
    replicas: int = 2,
    **spec: Any,
) -> Manifest:
    """Returns a LeaderWorkerSet of groups of two pods; these labels are on the workers."""
    meta: Manifest = {"name": name, "namespace": NAMESPACE, "labels": {QUEUE: queue} if queue else {}}
    group: Manifest = {
        "size": 2,
        "workerTemplate": {"metadata": {"labels": labels or {}}, "spec": worker or SERVER},
    }
    if leader is not None:
        group["leaderTemplate"] = {"spec": leader}
    strategy = {"maxUnavailable": 1, "maxSurge": 0, "partition": 0}
    body = {
        "replicas": replicas,
        "leaderWorkerTemplate": group,
        "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": strategy},
        "startupPolicy": "LeaderCreated",
        **spec,
    }
    api = "leaderworkerset.x-k8s.io/v1"
    return {"apiVersion": api, "kind": "LeaderWorkerSet", "metadata": meta, "spec": body}
