"""Objects that the stack does not declare: which of them are drift."""

from typing import Any

import pytest

from drift.deployed import Declared
from drift.undeclared import WATCHED, Scope

RBAC, KUEUE = "rbac.authorization.k8s.io/v1", "kueue.x-k8s.io/v1beta2"
Object = dict[str, Any]


def obj(version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> Object:
    metadata = {"name": name, "namespace": namespace, **fields.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def binding(kind: str, namespace: str = "", *, subject: Object | None = None, **metadata: Any) -> Object:
    subjects = {"subjects": [subject]} if subject else {}
    return obj(RBAC, kind, "extra", namespace, metadata=metadata, **subjects)


def group(name: str, kind: str = "Group") -> Object:
    return {"kind": kind, "name": name}


STACK = [
    obj("v1", "Namespace", "team-a"),
    obj(RBAC, "RoleBinding", "ray-user", "team-a", subjects=[group("team-a@example.com")]),
    obj(KUEUE, "ClusterQueue", "team-a"),
]
SCOPE = Scope([Declared("", "", manifest, "", "") for manifest in STACK], {("kueue-system", "kueue")})
ACCOUNT = {"kind": "ServiceAccount", "name": "default", "namespace": "team-a"}
HELM = {"meta.helm.sh/release-name": "kueue", "meta.helm.sh/release-namespace": "kueue-system"}


@pytest.mark.parametrize(
    ("live", "drifted"),
    [
        pytest.param(STACK[1], False, id="declared"),
        pytest.param(obj(RBAC, "RoleBinding", "ray-user", "team-a"), False, id="declared otherwise"),
        pytest.param(binding("RoleBinding", "team-a"), True, id="in a namespace of the stack"),
        pytest.param(binding("RoleBinding", "kube-system"), False, id="in another namespace"),
        pytest.param(
            binding("RoleBinding", "kube-system", subject=group("team-a@example.com")), True, id="for a group"
        ),
        pytest.param(binding("ClusterRoleBinding", subject=ACCOUNT), True, id="for an account"),
        pytest.param(
            binding("ClusterRoleBinding", subject=group("system:serviceaccounts:team-a")), True, id="for all"
        ),
        pytest.param(
            binding("ClusterRoleBinding", subject=group("system:serviceaccount:team-a:default", "User")),
            True,
            id="for an account's user",
        ),
        pytest.param(
            binding("ClusterRoleBinding", subject=group("system:serviceaccounts:team-ab")), False, id="others"
        ),
        pytest.param(binding("ClusterRoleBinding", subject=group("sre@example.com")), False, id="for others"),
        pytest.param(
            binding("RoleBinding", "team-a", ownerReferences=[{"kind": "RayCluster", "controller": True}]),
            False,
            id="of an autoscaler",
        ),
        pytest.param(binding("RoleBinding", "team-a", annotations=HELM), False, id="of a release"),
        pytest.param(
            binding("RoleBinding", "team-a", annotations={**HELM, "meta.helm.sh/release-name": "other"}),
            True,
            id="of another release",
        ),
        pytest.param(obj("v1", "ResourceQuota", "gke-resource-quotas", "team-a"), False, id="of GKE"),
        pytest.param(obj(KUEUE, "ClusterQueue", "extra"), True, id="queue"),
        pytest.param(obj(KUEUE, "WorkloadPriorityClass", "extra"), False, id="a kind that is not declared"),
    ],
)
def test_undeclared_object_is_drift_where_it_changes_what_is_allowed(live: Object, drifted: bool) -> None:
    (watched,) = [watched for watched in WATCHED if watched.kind == live["kind"]]
    assert SCOPE.has_undeclared(watched, live) == drifted
