"""A team's rights by stack local's RBAC, according to the API server."""

import pytest

from sandbox.cluster.kubectl import Kubectl
from tests.stacks.ray_requests import ALICE, create

MAY = [
    ("create", "rayjobs.ray.io", "team-a"),
    ("delete", "rayclusters.ray.io", "team-a"),
    ("patch", "rayservices.ray.io", "team-a"),
    ("create", "raycronjobs.ray.io", "team-a"),
    ("create", "cronjobs.batch", "team-a"),
    ("get", "workloads.kueue.x-k8s.io", "team-a"),
    ("list", "localqueues.kueue.x-k8s.io", "team-a"),
    ("list", "clusterqueues.kueue.x-k8s.io", ""),
    ("list", "deviceclasses.resource.k8s.io", ""),
    ("list", "resourceclaimtemplates.resource.k8s.io", "team-a"),
    ("get", "pods/log", "team-a"),
    ("create", "pods/portforward", "team-a"),
    ("create", "persistentvolumeclaims", "team-a"),
    ("delete", "persistentvolumeclaims", "team-a"),
]
MAY_NOT = [
    ("update", "rayclusters.ray.io/status", "team-a"),
    ("create", "workloads.kueue.x-k8s.io", "team-a"),
    ("patch", "workloads.kueue.x-k8s.io", "team-a"),
    ("update", "workloads.kueue.x-k8s.io/status", "team-a"),
    ("create", "localqueues.kueue.x-k8s.io", "team-a"),
    ("patch", "clusterqueues.kueue.x-k8s.io", ""),
    ("create", "pods", "team-a"),
    ("create", "resourceclaims.resource.k8s.io", "team-a"),
    ("create", "resourceclaimtemplates.resource.k8s.io", "team-a"),
    ("update", "pods/resize", "team-a"),
    ("get", "secrets", "team-a"),
    ("create", "secretproviderclasses.secrets-store.csi.x-k8s.io", "team-a"),
    ("patch", "secretproviderclasses.secrets-store.csi.x-k8s.io", "team-a"),
    ("delete", "networkpolicies.networking.k8s.io", "team-a"),
    ("patch", "resourcequotas", "team-a"),
    ("create", "rayjobs.ray.io", "team-b"),
    ("get", "pods/log", "team-b"),
    ("create", "persistentvolumeclaims", "team-b"),
]


@pytest.mark.parametrize(("verb", "resource", "namespace"), MAY)
def test_a_team_may(server: Kubectl, verb: str, resource: str, namespace: str) -> None:
    assert can(server, verb, resource, namespace)


@pytest.mark.parametrize(("verb", "resource", "namespace"), MAY_NOT)
def test_a_team_may_not(server: Kubectl, verb: str, resource: str, namespace: str) -> None:
    assert not can(server, verb, resource, namespace)


def can(server: Kubectl, verb: str, resource: str, namespace: str) -> bool:
    """Asks as `kubectl auth can-i` does."""
    resource, _, subresource = resource.partition("/")
    resource, _, group = resource.partition(".")
    attributes = {"verb": verb, "group": group, "resource": resource, "subresource": subresource}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "metadata": {},
        "spec": {"resourceAttributes": {**attributes, "namespace": namespace}},
    }
    return bool(create(server, ALICE, review)["status"]["allowed"])
