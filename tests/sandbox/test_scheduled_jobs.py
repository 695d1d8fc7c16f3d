"""KubeRay and Kubernetes create jobs on a schedule, which wait for quota like jobs of users."""

from typing import Any

import pytest
from lightkube import ApiError
from lightkube.types import PatchType

from sandbox.cluster import kinds
from tests.sandbox.conftest import NAMESPACE, Cluster, Manifest, rayjob

pytestmark = pytest.mark.thorough

SCHEDULE_SECONDS_MAX = 150.0  # until the second full minute
QUEUE = "kueue.x-k8s.io/queue-name"


def cron_job(job: Manifest, **labels: str) -> Manifest:
    """Returns a RayCronJob that creates the job each minute."""
    metadata = {**job["metadata"], "labels": labels}
    spec = {"schedule": "* * * * *", "jobTemplate": job["spec"]}
    return {"apiVersion": "ray.io/v1", "kind": "RayCronJob", "metadata": metadata, "spec": spec}


def jobs_of(cluster: Cluster, schedule: str) -> list[str]:
    """Returns the names of its RayJobs."""
    labels: Any = {"ray.io/cronjob-name": schedule}
    jobs = cluster.client.list(kinds.RayJob, namespace=NAMESPACE, labels=labels)
    return [str(job["metadata"]["name"]) for job in jobs]


def test_scheduled_jobs_wait_for_quota_and_run(cluster: Cluster) -> None:
    holder = rayjob("holder", gpus=3)
    holder["metadata"]["annotations"]["sandbox.muster.dev/run-seconds"] = "600"
    cluster.submit(holder)
    body = cron_job(rayjob("nightly", gpus=3), **{QUEUE: "user-queue"})
    schedule = str(cluster.client.create(kinds.RayCronJob(body))["metadata"]["name"])
    try:
        cluster.until("two jobs or more", lambda: len(jobs_of(cluster, schedule)) >= 2, SCHEDULE_SECONDS_MAX)
        stopped = {"spec": {"suspend": True}}
        merge = PatchType.MERGE
        cluster.client.patch(kinds.RayCronJob, schedule, stopped, namespace=NAMESPACE, patch_type=merge)
        for job in jobs_of(cluster, schedule):
            assert "nvidia.com/gpu" in cluster.until_waits(job)["message"]
            assert cluster.job(job)["spec"]["suspend"]
            assert not cluster.pods(job)
        cluster.client.delete(kinds.RayJob, holder["metadata"]["name"], namespace=NAMESPACE)
        for job in jobs_of(cluster, schedule):
            cluster.until_succeeded(job)
            assert kinds.is_true(cluster.workload(job), "Admitted")
    finally:
        cluster.client.delete(kinds.RayCronJob, schedule, namespace=NAMESPACE)
    cluster.until("its jobs are deleted with it", lambda: not jobs_of(cluster, schedule))


def test_jobs_of_a_cron_job_are_admitted(cluster: Cluster) -> None:
    resources = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    pod = {
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "busybox", "resources": resources}],
    }
    job = {"metadata": {"labels": {QUEUE: "user-queue"}}, "spec": {"template": {"spec": pod}}}
    metadata = {"name": "hourly", "namespace": NAMESPACE}
    cluster.client.create(
        kinds.CronJob({"metadata": metadata, "spec": {"schedule": "* * * * *", "jobTemplate": job}})
    )
    try:
        cluster.until("its Job to be admitted", lambda: bool(admitted_jobs(cluster)), SCHEDULE_SECONDS_MAX)
    finally:
        cluster.client.delete(kinds.CronJob, "hourly", namespace=NAMESPACE)


def admitted_jobs(cluster: Cluster) -> list[str]:
    """Returns the names of the CronJob's Jobs that run with quota."""
    jobs = [dict(job) for job in cluster.client.list(kinds.JOBS["Job"], namespace=NAMESPACE)]
    running = [job["metadata"]["name"] for job in jobs if not job["spec"]["suspend"]]
    return [job for job in running if kinds.is_true(cluster.workload(job), "Admitted")]


def test_a_schedule_without_a_queue_is_refused(cluster: Cluster) -> None:
    with pytest.raises(ApiError, match=f"add the label {QUEUE} with the name of a queue"):
        cluster.client.create(kinds.RayCronJob(cron_job(rayjob("nightly", gpus=1))))
