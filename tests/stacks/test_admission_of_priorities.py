"""Tests which priorities tenants may give to their jobs, by stack local's policies.

team-a may use all of the stack's; team-b none of production's (stacks/Pulumi.local.yaml).
"""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from sandbox.cluster.kubectl import Kubectl
from tests.stacks.dry_runs import Manifest, User
from tests.stacks.ray_requests import ADMIN, ALICE, QUEUE, raycluster, rayjob, rayservice, refusal, unqueued

BOB: User = ("--as=bob@example.com", "--as-group=team-b@example.com", "--as-group=system:authenticated")
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


def test_the_manifests_are_queued() -> None:
    assert all(QUEUE in make()["metadata"]["labels"] for make in (rayjob, raycluster, rayservice))
