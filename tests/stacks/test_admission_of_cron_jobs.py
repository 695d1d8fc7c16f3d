"""Tests that jobs on a schedule do not bypass the queues, by stack local's policies."""

from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.cluster.kubectl import Kubectl
from tests.stacks.accelerator_requests import DAVE, RULES, SUBJECT
from tests.stacks.autoscaler_rights import existing, granted
from tests.stacks.dry_runs import Manifest, User
from tests.stacks.job_requests import GPU_POD, NAMESPACE, POD, batch_job
from tests.stacks.ray_requests import ADMIN, rayjob, refusal

CRON_JOBS: User = (
    "--as=system:serviceaccount:kube-system:cronjob-controller",
    "--as-group=system:serviceaccounts:kube-system",
)
UNCHECKED = "a RayCronJob would create RayJobs outside the queues, which no policy checks"
OWNER = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "1", "controller": True}


def ray_cron_job(namespace: str = NAMESPACE) -> Manifest:
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCronJob",
        "metadata": {"name": "nightly", "namespace": namespace},
        "spec": {"schedule": "0 1 * * *", "jobTemplate": rayjob()["spec"]},
    }


def scheduled(pod: Manifest, **options: Any) -> Manifest:
    """Returns a Job as the CronJob controller creates it."""
    job = batch_job(template={"spec": pod}, **options)
    job["metadata"]["ownerReferences"] = [OWNER]
    return job


# the object, the user -> why it may not be created
CREATIONS: dict[str, tuple[Manifest, User, str]] = {
    "a RayCronJob": (ray_cron_job(), DAVE, UNCHECKED),
    "a RayCronJob, by an administrator": (ray_cron_job(), ADMIN, ""),
    "a RayCronJob outside the tenants' namespaces": (ray_cron_job("default"), ADMIN, ""),
    "a CronJob's Job": (scheduled(POD, queue=""), CRON_JOBS, ""),
    "a CronJob's Job with accelerators": (
        scheduled(GPU_POD, queue=""),
        CRON_JOBS,
        "this Job would use them outside of it",
    ),
    "a CronJob's Job in a queue": (
        scheduled(GPU_POD),
        CRON_JOBS,
        "only the Job controller makes a queued Job part of another object",
    ),
    "a CronJob's Job of a high priority": (
        scheduled({**POD, "priorityClassName": "system-node-critical"}, queue=""),
        CRON_JOBS,
        "priorityClassName of a pod template must be one",
    ),
}


@pytest.fixture(scope="module")
def editor(server: Kubectl) -> Iterator[Kubectl]:
    """Lets DAVE write all of KubeRay's and Kubernetes' kinds in team-a."""
    with existing(server, granted("dave", RULES, SUBJECT)):
        yield server


@pytest.mark.parametrize("name", CREATIONS)
def test_scheduled_jobs_are_checked(editor: Kubectl, name: str) -> None:
    manifest, user, message = CREATIONS[name]
    refused = refusal(editor, user, manifest)
    assert message in refused
    assert bool(refused) is bool(message), refused
