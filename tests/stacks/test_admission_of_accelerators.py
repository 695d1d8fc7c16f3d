"""Accelerators outside the queues, under stack local's policies: refused by default, allowed by name."""

from collections.abc import Iterator
from typing import NamedTuple, get_args

import pytest

from components.admission.accelerators import POD_OWNERS
from muster.cluster.jobs.kinds import JOB_KINDS
from sandbox.cluster.kubectl import Kubectl
from settings.model.tenants.pods import Unqueued
from tests.stacks.accelerator_requests import (
    ALLOWED,
    DAVE,
    DEVICE,
    MAKERS,
    PLAIN,
    PODS,
    REMEDY,
    allowed_by_name,
    pod,
    unqueued_job,
)
from tests.stacks.autoscaler_rights import account
from tests.stacks.dry_runs import Manifest, Target, User
from tests.stacks.job_requests import NAMESPACE
from tests.stacks.ray_requests import ADMIN, ALICE, refusal, refused_patch
from tests.stacks.updates import put


@pytest.fixture(scope="module")
def owners(server: Kubectl) -> Iterator[Kubectl]:
    server.create([MAKERS["Deployment"]("running", PLAIN)])
    try:
        with allowed_by_name(server):
            yield server
    finally:
        server.run("delete", "deployment", "running", f"--namespace={NAMESPACE}")


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("devices", PODS)
def test_accelerators_need_a_queue(owners: Kubectl, kind: str, devices: str) -> None:
    refused = refusal(owners, DAVE, MAKERS[kind]("other", PODS[devices]))
    assert f"this {kind} would use them outside of it" in refused
    assert REMEDY in refused


@pytest.mark.parametrize("kind", MAKERS)
def test_named_objects_may_use_accelerators(owners: Kubectl, kind: str) -> None:
    assert refusal(owners, DAVE, MAKERS[kind](ALLOWED, PODS["a GPU"])) == ""


@pytest.mark.parametrize("kind", MAKERS)
def test_objects_without_accelerators_are_created(owners: Kubectl, kind: str) -> None:
    assert refusal(owners, DAVE, MAKERS[kind]("other", PLAIN)) == ""


def test_accelerators_are_not_added_later(owners: Kubectl) -> None:
    target = Target("apps/v1", "deployment", "running", NAMESPACE)
    added = put("/spec/template/spec/containers/0/resources", DEVICE["resources"])
    assert "this Deployment would use them" in refused_patch(owners, DAVE, target, [added])


def test_a_team_has_no_right_on_these_objects(owners: Kubectl) -> None:
    for kind in MAKERS.keys() - {job_kind.name for job_kind in JOB_KINDS}:
        assert "forbidden" in refusal(owners, ALICE, MAKERS[kind](ALLOWED, PLAIN))


class Creation(NamedTuple):
    """A request of a controller, for an object that was checked when it was written."""

    name: str
    user: User
    manifest: Manifest
    is_refused: bool

    def __str__(self) -> str:
        return self.name


def controller(name: str) -> User:
    return account(name, "kube-system")


GPU_POD = pod("of-another", PODS["a GPU"])
CREATIONS = (
    Creation("a ReplicaSet's pod", controller("replicaset-controller"), GPU_POD, False),
    Creation("a StatefulSet's pod", controller("statefulset-controller"), GPU_POD, False),
    Creation("a DaemonSet's pod", controller("daemon-set-controller"), GPU_POD, False),
    Creation("a Job's pod", controller("job-controller"), GPU_POD, False),
    Creation("a ReplicationController's pod", controller("replication-controller"), GPU_POD, False),
    Creation("KubeRay's pod", ADMIN, GPU_POD, False),
    Creation(
        "a Deployment's ReplicaSet",
        controller("deployment-controller"),
        MAKERS["ReplicaSet"]("other", PODS["a GPU"]),
        False,
    ),
    Creation(
        "a CronJob's Job",
        controller("cronjob-controller"),
        unqueued_job("other", PODS["a GPU"]),
        True,
    ),
    Creation("a pod of another operator", DAVE, GPU_POD, True),
)


@pytest.mark.parametrize("case", CREATIONS, ids=str)
def test_controllers_create_what_was_checked(owners: Kubectl, case: Creation) -> None:
    refused = refusal(owners, case.user, case.manifest)
    assert bool(refused) is case.is_refused, refused
    assert (REMEDY in refused) is case.is_refused


def test_settings_name_the_kinds_of_the_policies() -> None:
    kinds = {*(kind.name for kind in JOB_KINDS), *(owner.name for owner in POD_OWNERS)}
    assert set(get_args(Unqueued.model_fields["kind"].annotation)) == kinds
    assert set(MAKERS) == kinds
