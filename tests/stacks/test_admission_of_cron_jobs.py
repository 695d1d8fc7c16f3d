"""Tests that jobs on a schedule do not bypass the queues, by stack local's policies."""

from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.cluster.kubectl import Kubectl
from tests.stacks.accelerator_requests import RULES, SUBJECT
from tests.stacks.autoscaler_rights import existing, granted
from tests.stacks.dry_runs import Manifest, User, expect_refusal
from tests.stacks.job_requests import GPU_POD, POD, batch_job
from tests.stacks.ray_requests import create, refusal

CRON_JOBS: User = (
    "--as=system:serviceaccount:kube-system:cronjob-controller",
    "--as-group=system:serviceaccounts:kube-system",
)
OWNER = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "1", "controller": True}


def scheduled(pod: Manifest, **options: Any) -> Manifest:
    """Returns a Job as the CronJob controller creates it."""
    job = batch_job(template={"spec": pod}, **options)
    job["metadata"]["ownerReferences"] = [OWNER]
    return job


def with_finalizer(job: Manifest) -> Manifest:
    job["metadata"]["finalizers"] = ["example.com/mine"]
    return job


# the object, the user -> why it may not be created
CREATIONS: dict[str, tuple[Manifest, User, str]] = {
    "a CronJob's Job": (scheduled(POD, queue=""), CRON_JOBS, ""),
    "a CronJob's Job with accelerators": (
        scheduled(GPU_POD, queue=""),
        CRON_JOBS,
        "this Job would use them outside of it",
    ),
    "a CronJob's Job in a queue": (scheduled(GPU_POD), CRON_JOBS, ""),
    "a CronJob's Job in a queue, with a finalizer": (
        with_finalizer(scheduled(GPU_POD)),
        CRON_JOBS,
        "a queued Job has no finalizers",
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
    expect_refusal(refusal(editor, user, manifest), message)


def test_a_queued_job_of_a_cron_job_is_suspended(editor: Kubectl) -> None:
    assert create(editor, CRON_JOBS, scheduled(GPU_POD))["spec"]["suspend"] is True
