"""Accelerators outside the queues, under stack local's policies: refused by default, allowed by name."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, get_args

import pytest

from components.admission.accelerators import POD_OWNERS
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import wait_until
from settings.model.tenants.pods import Unqueued
from tests.stacks.autoscaler_rights import account, existing, granted
from tests.stacks.dry_runs import Manifest, Target, User
from tests.stacks.job_requests import NAMESPACE, batch_job
from tests.stacks.ray_requests import ADMIN, ALICE, refusal, refused_patch
from tests.stacks.updates import put

POLICY_SECONDS_MAX = 15.0
# Has the rights of `edit` in team-a, by an administrator's Role; a team has none on these objects.
DAVE: User = ("--as=dave@example.com", "--as-group=system:authenticated")
SUBJECT = {"kind": "User", "name": "dave@example.com", "apiGroup": "rbac.authorization.k8s.io"}
RULES = [{"apiGroups": ["", "apps", "batch"], "resources": ["*"], "verbs": ["*"]}]
DEVICE: Manifest = {"resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}}
ALLOWED = "allowed"
REMEDY = "ask an administrator to add it to muster:tenants[].unqueued"


def container(name: str = "main", **fields: Any) -> Manifest:
    return {"name": name, "image": "busybox", **fields}


PLAIN = {"containers": [container()]}
PODS: dict[str, Manifest] = {
    "a GPU": {"containers": [container(**DEVICE)]},
    "a GPU in an init container": {"containers": [container()], "initContainers": [container("i", **DEVICE)]},
    "a claim": {**PLAIN, "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]},
}


def pod(name: str, spec: Manifest) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }


def replicated(kind: str, version: str = "apps/v1") -> Callable[[str, Manifest], Manifest]:
    def make(name: str, spec: Manifest) -> Manifest:
        template = {"metadata": {"labels": {"app": name}}, "spec": spec}
        selector = {"app": name} if version == "v1" else {"matchLabels": {"app": name}}
        body: Manifest = {"selector": selector, "template": template}
        metadata = {"name": name, "namespace": NAMESPACE}
        return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": body}

    return make


def unqueued_job(name: str, spec: Manifest) -> Manifest:
    return batch_job(name, queue="", template={"spec": {"restartPolicy": "Never", **spec}})


MAKERS: dict[str, Callable[[str, Manifest], Manifest]] = {
    "Pod": pod,
    "Job": unqueued_job,
    "Deployment": replicated("Deployment"),
    "StatefulSet": replicated("StatefulSet"),
    "DaemonSet": replicated("DaemonSet"),
    "ReplicaSet": replicated("ReplicaSet"),
    "ReplicationController": replicated("ReplicationController", "v1"),
}


@pytest.fixture(scope="module")
def owners(server: Kubectl) -> Iterator[Kubectl]:
    """Allows one object of each kind by name, as `unqueued` does."""
    labels = [f"{kind.lower()}.unqueued.muster.dev/{ALLOWED}" for kind in MAKERS]
    server.run("label", "namespace", NAMESPACE, *(f"{label}=true" for label in labels))
    server.create([MAKERS["Deployment"]("running", PLAIN)])
    try:
        with existing(server, granted("dave", RULES, SUBJECT)):
            allowed = MAKERS["Pod"](ALLOWED, PODS["a GPU"])
            wait_until("the labels", lambda: not refusal(server, DAVE, allowed), POLICY_SECONDS_MAX)
            yield server
    finally:
        server.run("delete", "deployment", "running", f"--namespace={NAMESPACE}")
        server.run("label", "namespace", NAMESPACE, *(f"{label}-" for label in labels))


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
    for kind in MAKERS.keys() - {"Job"}:
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
    assert set(get_args(Unqueued.model_fields["kind"].annotation)) == {
        "Job",
        *(owner.name for owner in POD_OWNERS),
    }
    assert set(MAKERS) == {"Job", *(owner.name for owner in POD_OWNERS)}
