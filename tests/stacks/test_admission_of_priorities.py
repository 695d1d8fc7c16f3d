"""Tests which priorities tenants may give to their jobs, by stack local's policies.

team-a may use all of the stack's; team-b none of production's (stacks/Pulumi.local.yaml).
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from components.admission.accelerators import POD_OWNERS
from sandbox.cluster.kubectl import Kubectl
from tests.stacks.accelerator_requests import DAVE, MAKERS, PLAIN, RULES, SUBJECT
from tests.stacks.autoscaler_rights import existing, granted
from tests.stacks.dry_runs import Manifest, User, expect_refusal
from tests.stacks.ray_requests import ADMIN, ALICE, QUEUE, raycluster, rayjob, rayservice, refusal, unqueued

BOB: User = ("--as=bob@example.com", "--as-group=team-b@example.com", "--as-group=system:authenticated")
KINDS = [owner.name for owner in POD_OWNERS]
PRIORITY = "kueue.x-k8s.io/priority-class"
CRITICAL = "system-node-critical"
POD = {"spec": {"containers": [{"name": "submitter", "image": "x"}], "priorityClassName": CRITICAL}}
LABEL = f"the label {PRIORITY} must name a priority that this namespace may use"
PODS = "priorityClassName of a pod template must be one that this namespace may use"


class Case(NamedTuple):
    """A request in a namespace, the priority of its label and pods, and the message that refuses it."""

    name: str
    make: Callable[[], Manifest]
    user: User
    namespace: str
    label: str | None
    pods: str | None = None
    message: str = ""
    of_workers: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def manifest(self) -> Manifest:
        manifest = self.make()
        manifest["metadata"]["namespace"] = self.namespace
        labels = manifest["metadata"].setdefault("labels", {})
        labels.pop(PRIORITY, None)
        if self.label is not None:
            labels[PRIORITY] = self.label
        spec = manifest["spec"]
        spec = spec.get("rayClusterSpec") or spec.get("rayClusterConfig") or spec
        group = spec["workerGroupSpecs"][0] if self.of_workers else spec["headGroupSpec"]
        if self.pods is not None:
            group["template"]["spec"]["priorityClassName"] = self.pods
        return manifest


def critical_submitter() -> Manifest:
    job = rayjob()
    job["spec"]["submitterPodTemplate"] = POD
    return job


CASES = [
    Case("one of the stack's", rayjob, ALICE, "team-a", "prod-priority"),
    Case("one of the tenant's", rayjob, BOB, "team-b", "dev-priority"),
    Case("none at all", rayjob, BOB, "team-b", None),
    Case("one of another tenant's", rayjob, BOB, "team-b", "prod-priority", message=LABEL),
    Case("one of another tenant's, of a cluster", raycluster, BOB, "team-b", "inference", message=LABEL),
    Case("one of another tenant's, of a service", rayservice, BOB, "team-b", "inference", message=LABEL),
    Case("one that does not exist", raycluster, BOB, "team-b", "urgent", message=LABEL),
    Case("an administrator in that namespace", rayjob, ADMIN, "team-b", "prod-priority", message=LABEL),
    Case("another tenant's, unqueued", unqueued, BOB, "team-b", "prod-priority"),
    Case("a critical head", rayjob, ALICE, "team-a", None, CRITICAL, PODS),
    Case("a critical head next to a label", rayjob, ALICE, "team-a", "dev-priority", CRITICAL, PODS),
    Case("critical workers", raycluster, ALICE, "team-a", None, "system-cluster-critical", PODS, True),
    Case("a critical submitter", critical_submitter, ALICE, "team-a", None, message=PODS),
    Case("a critical service", rayservice, ALICE, "team-a", None, CRITICAL, PODS),
    Case("critical pods, unqueued", unqueued, ALICE, "team-a", None, CRITICAL, PODS),
    Case("production's for pods", rayjob, BOB, "team-b", None, "prod-priority", PODS),
    Case("its own for pods", rayjob, BOB, "team-b", None, "training"),
    Case("production's for pods where it is allowed", rayjob, ALICE, "team-a", None, "prod-priority"),
    Case("pods outside the tenants' namespaces", unqueued, ADMIN, "default", None, CRITICAL),
    Case("queued pods outside the tenants' namespaces", raycluster, ADMIN, "default", None, CRITICAL, PODS),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_priorities_must_be_the_tenants(server: Kubectl, case: Case) -> None:
    error = refusal(server, case.user, case.manifest)
    assert case.message in error
    assert bool(error) is bool(case.message)


REPLICAS: User = (
    "--as=system:serviceaccount:kube-system:replicaset-controller",
    "--as-group=system:serviceaccounts:kube-system",
)
OF_PODS = "must be one that this namespace may use, as its pods would preempt"
# the kind, the user, the class -> the refusal
PODS_OF_USERS: dict[str, tuple[str, User, str, str]] = {
    **{f"a critical {kind}": (kind, DAVE, CRITICAL, OF_PODS) for kind in KINDS},
    **{f"a {kind} without a class": (kind, DAVE, "", "") for kind in KINDS},
    "a Pod of another tenant's class": ("Pod", DAVE, "prod-priority", OF_PODS),
    "a Pod of the tenant's class": ("Pod", DAVE, "dev-priority", ""),
    "a Pod of the cluster's default class": ("Pod", DAVE, "usual", ""),
    "a Deployment of another class": ("Deployment", DAVE, "usual", OF_PODS),
    "a Deployment of the tenant's class": ("Deployment", DAVE, "dev-priority", ""),
    "a Pod of a checked ReplicaSet": ("Pod", REPLICAS, CRITICAL, ""),
    "an administrator's Pod": ("Pod", ADMIN, CRITICAL, ""),
}


@pytest.fixture(scope="module")
def editor(server: Kubectl) -> Iterator[Kubectl]:
    """Lets DAVE write pods and their owners in team-b, and adds PriorityClasses."""
    values = {"usual": 10, "dev-priority": 1, "prod-priority": 1000}
    classes: list[Manifest] = [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "globalDefault": name == "usual",
        }
        for name, value in values.items()
    ]
    server.create(classes)
    try:
        with existing(server, granted("dave", RULES, SUBJECT, "team-b")):
            yield server
    finally:
        server.run("delete", "priorityclass", *values)


@pytest.mark.parametrize("name", PODS_OF_USERS)
def test_pods_outside_the_queues_do_not_preempt_others(editor: Kubectl, name: str) -> None:
    kind, user, priority, message = PODS_OF_USERS[name]
    manifest = MAKERS[kind]("new", {**PLAIN, "priorityClassName": priority} if priority else PLAIN)
    manifest["metadata"]["namespace"] = "team-b"
    expect_refusal(refusal(editor, user, manifest), message)


def test_the_manifests_are_queued() -> None:
    assert all(QUEUE in make()["metadata"]["labels"] for make in (rayjob, raycluster, rayservice))
