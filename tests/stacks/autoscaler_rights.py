"""The Role that KubeRay 1.6.2 creates for an autoscaled RayCluster, and identities that have it.

Source: ray-operator/controllers/ray/common/rbac.go.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sandbox.cluster.kubectl import Kubectl
from tests.stacks.dry_runs import Manifest, User

RBAC = "rbac.authorization.k8s.io"
KUBERAY_RULES = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "patch"]},
    {"apiGroups": [""], "resources": ["pods/resize"], "verbs": ["patch"]},
    {"apiGroups": ["ray.io"], "resources": ["rayclusters"], "verbs": ["get", "patch"]},
]


def account(name: str, namespace: str = "team-a") -> User:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return (f"--as=system:serviceaccount:{namespace}:{name}", *(f"--as-group={group}" for group in groups))


def granted(
    name: str, rules: Iterable[dict[str, Any]], subject: dict[str, str], namespace: str = "team-a"
) -> list[Manifest]:
    """Returns a Role with these rules, and its RoleBinding."""
    metadata = {"name": name, "namespace": namespace}
    role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": list(rules)}
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
        "subjects": [subject],
    }
    return [role, binding]


def by_kuberay(cluster: str, service_account: str, namespace: str = "team-a") -> list[Manifest]:
    subject = {"kind": "ServiceAccount", "name": service_account, "namespace": namespace}
    return granted(cluster, KUBERAY_RULES, subject, namespace)


@contextmanager
def existing(server: Kubectl, rights: Sequence[Manifest]) -> Iterator[None]:
    """Creates these Roles and RoleBindings, and deletes them at the end: they are drift of stack local."""
    server.create(rights)
    try:
        yield
    finally:
        names = [f"{right['kind'].lower()}/{right['metadata']['name']}" for right in rights]
        server.run("delete", *names, f"--namespace={rights[0]['metadata']['namespace']}")
