"""RBAC of kube-proxy and the DNS server, as in other clusters."""

from typing import Any

from sandbox.realnodes.certificates import NODES_GROUP

DNS_USER = "system:coredns"
_RBAC = "rbac.authorization.k8s.io"


def access_objects() -> list[dict[str, Any]]:
    """Returns the ClusterRole of the DNS, and the bindings of both."""
    read = ["list", "watch"]
    rules = [
        {"apiGroups": [""], "resources": ["services", "pods", "namespaces"], "verbs": read},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": read},
    ]
    role = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": DNS_USER},
        "rules": rules,
    }
    # kube-proxy uses the certificate of its node.
    return [
        role,
        _binding("kube-proxy", "system:node-proxier", "Group", NODES_GROUP),
        _binding(DNS_USER, DNS_USER, "User", DNS_USER),
    ]


def _binding(name: str, role: str, kind: str, subject: str) -> dict[str, Any]:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"sandbox:{name}"},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": _RBAC, "kind": kind, "name": subject}],
    }
