"""Tests that RayCronJobs of tenants enter the queues, by stack local's policies."""

from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.cluster.kubectl import Kubectl
from tests.stacks.accelerator_requests import DAVE
from tests.stacks.dry_runs import Manifest, Target, User, connection, expect_refusal
from tests.stacks.job_requests import NAMESPACE
from tests.stacks.ray_requests import (
    ADMIN,
    ALICE,
    LABELS,
    PRIORITY,
    QUEUE,
    create,
    of_schedule,
    outside_queues,
    ray_cron_job,
    rayjob,
    refusal,
    refused_patch,
)

KUBERAY = ADMIN  # which may write the status of RayClusters, too
RUN_TIME = "kueue.x-k8s.io/max-exec-time-seconds"
EACH = "each RayJob of this RayCronJob: "
ACCELERATORS = "in this namespace accelerators have a quota"


def unlabelled(cron_job: Manifest) -> Manifest:
    del cron_job["metadata"]["labels"]
    return cron_job


def without_accelerators(cron_job: Manifest) -> Manifest:
    outside_queues({"metadata": {}, "spec": cron_job["spec"]["jobTemplate"]})
    return cron_job


# the RayCronJob, the user -> why it may not be created
CREATIONS: dict[str, tuple[Manifest, User, str]] = {
    "in a queue": (ray_cron_job(), ALICE, ""),
    "in a queue, by an administrator": (ray_cron_job(), ADMIN, ""),
    "accelerators without a queue": (unlabelled(ray_cron_job()), ALICE, EACH + ACCELERATORS),
    "neither accelerators nor a queue": (unlabelled(without_accelerators(ray_cron_job())), ALICE, ""),
    "no queue where it is required": (
        unlabelled(without_accelerators(ray_cron_job("team-a-queued"))),
        ADMIN,
        f"{EACH}in this namespace Ray objects need a queue: add the label {QUEUE}",
    ),
    "a cluster that outlasts the job": (
        ray_cron_job(shutdownAfterJobFinishes=False),
        ALICE,
        f"{EACH}a queued RayJob needs spec.jobTemplate.shutdownAfterJobFinishes: true",
    ),
    "another manager": (
        ray_cron_job(managedBy="kueue.x-k8s.io/multikueue"),
        ALICE,
        "leave spec.jobTemplate.managedBy unchanged",
    ),
    "a name that is too long for an autoscaled job": (
        ray_cron_job(
            name="n" * 39,
            rayClusterSpec=rayjob()["spec"]["rayClusterSpec"] | {"enableInTreeAutoscaling": True},
        ),
        ALICE,
        "the name of an autoscaled RayJob has at most 44 characters",
    ),
    "a name that is too long": (ray_cron_job(name="n" * 42), ALICE, "has at most 41 characters"),
    "a name that is just short enough": (ray_cron_job(name="n" * 41), ALICE, ""),
    "outside the tenants' namespaces": (unlabelled(ray_cron_job("default")), ADMIN, ""),
}


@pytest.mark.parametrize("name", CREATIONS)
def test_templates_are_checked_like_rayjobs(server: Kubectl, name: str) -> None:
    cron_job, user, message = CREATIONS[name]
    expect_refusal(refusal(server, user, cron_job), message)


# labels of the RayCronJob -> labels of its RayJobs that place them
COPIES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "a queue": ({QUEUE: "user-queue"}, {QUEUE: "user-queue"}),
    "a queue and a priority": (LABELS, LABELS),
    "a queue and a maximum run time": (LABELS | {RUN_TIME: "60"}, LABELS | {RUN_TIME: "60"}),
    "labels of others": (LABELS | {"team": "a"}, LABELS),
}


@pytest.mark.parametrize("name", COPIES)
def test_rayjobs_enter_the_queue_of_their_schedule_suspended(server: Kubectl, name: str) -> None:
    labels, copied = COPIES[name]
    cron_job = ray_cron_job()
    cron_job["metadata"]["labels"] = labels
    job = create(server, KUBERAY, of_schedule(create(server, ALICE, cron_job)))
    assert job["metadata"]["labels"] == {"ray.io/cronjob-name": "nightly", **copied}
    assert job["spec"]["suspend"] is True


@pytest.fixture(scope="module")
def stored(server: Kubectl) -> Iterator[Kubectl]:
    """Creates the RayCronJob nightly."""
    server.create([ray_cron_job()])
    yield server
    server.run("delete", "raycronjob/nightly", f"--namespace={NAMESPACE}")


NIGHTLY = Target("ray.io/v1", "RayCronJob", "nightly", NAMESPACE)


def test_the_template_follows_changed_labels(stored: Kubectl) -> None:
    changed = {"metadata": {"labels": {QUEUE: "other", PRIORITY: None}}}
    patched = connection(stored.kubeconfig).patch(NIGHTLY, changed, ALICE)
    assert patched["spec"]["jobTemplate"]["metadata"] == {QUEUE: "other"}


def test_the_template_names_no_queue_but_the_label_s(stored: Kubectl) -> None:
    changed = {"spec": {"jobTemplate": {"metadata": {QUEUE: "other", "team": "a"}}}}
    patched = connection(stored.kubeconfig).patch(NIGHTLY, changed, ALICE)
    assert patched["spec"]["jobTemplate"]["metadata"] == {**LABELS, "team": "a"}


# patch -> why it is refused
UPDATES: dict[str, tuple[dict[str, Any], str]] = {
    "suspended": ({"spec": {"suspend": True}}, ""),
    "another schedule": ({"spec": {"schedule": "0 2 * * *"}}, ""),
    "taken out of the queue": ({"metadata": {"labels": {QUEUE: None}}}, ACCELERATORS),
    "a template that cannot be suspended": (
        {"spec": {"jobTemplate": {"shutdownAfterJobFinishes": False}}},
        "needs spec.jobTemplate.shutdownAfterJobFinishes: true",
    ),
}


@pytest.mark.parametrize("name", UPDATES)
def test_updates_are_checked(stored: Kubectl, name: str) -> None:
    patch, message = UPDATES[name]
    expect_refusal(refused_patch(stored, ALICE, NIGHTLY, patch), message)


# the RayJob, its creator -> why it may not be created
BYPASSES: dict[str, tuple[Manifest, User, str]] = {
    "without the queue of its schedule": (of_schedule(ray_cron_job()), KUBERAY, ACCELERATORS),
    "without a queue where it is required": (
        of_schedule(without_accelerators(ray_cron_job("team-a-queued"))),
        KUBERAY,
        "in this namespace Ray objects need a queue",
    ),
    "that can't be suspended": (
        of_schedule(ray_cron_job(metadata=LABELS), shutdownAfterJobFinishes=False),
        KUBERAY,
        "a queued RayJob needs spec.shutdownAfterJobFinishes: true",
    ),
    "with a finalizer": (
        {
            **of_schedule(ray_cron_job(metadata=LABELS)),
            "metadata": of_schedule(ray_cron_job())["metadata"] | {"finalizers": ["example.com/mine"]},
        },
        KUBERAY,
        "a queued RayJob has no finalizers",
    ),
    "with a schedule named by a user": (of_schedule(ray_cron_job()), ALICE, ACCELERATORS),
}


@pytest.mark.parametrize("name", BYPASSES)
def test_rayjobs_of_schedules_are_checked(server: Kubectl, name: str) -> None:
    job, user, message = BYPASSES[name]
    assert message in refusal(server, user, job)


def test_a_schedule_takes_no_rayjob_out_of_its_queue(server: Kubectl) -> None:
    """A RayJob with its owner stays managed, so that a tenant may write it (JobView.is_part)."""
    owner = of_schedule(ray_cron_job())["metadata"]["ownerReferences"]
    job = Target("ray.io/v1", "RayJob", "job", NAMESPACE)
    assert not refused_patch(server, ALICE, job, {"metadata": {"ownerReferences": owner}})
    cluster = Target("ray.io/v1", "RayCluster", "notebook", NAMESPACE)
    assert "part of another object" in refused_patch(
        server, ALICE, cluster, {"metadata": {"ownerReferences": owner}}
    )


def test_other_tenants_may_create_none_here(server: Kubectl) -> None:
    assert "cannot create" in refusal(server, DAVE, ray_cron_job())
