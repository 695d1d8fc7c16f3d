"""The endpoint of the API server for pods, and the RBAC of nodes' programs, as in other clusters."""

from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.realnodes.addresses import API_PORT
from sandbox.realnodes.certificates import NODES_GROUP

NETWORK_USER = "system:network-policies"
_RBAC = "rbac.authorization.k8s.io"


def access_objects() -> list[dict[str, Any]]:
    """Returns the roles and bindings of kube-proxy, which uses the certificate of its node, and of the
    enforcement of NetworkPolicies."""
    read = {"": ("pods", "namespaces", "nodes"), "networking.k8s.io": ("networkpolicies",)}
    user = {"apiGroup": _RBAC, "kind": "User", "name": NETWORK_USER}
    return [
        bind("kube-proxy", "system:node-proxier", {"apiGroup": _RBAC, "kind": "Group", "name": NODES_GROUP}),
        cluster_role("network-policies", read),
        bind("network-policies", "sandbox:network-policies", user),
    ]


def api_endpoint(address: str) -> dict[str, Any]:
    """Returns the endpoint of the Service `kubernetes`."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": "kubernetes"},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": API_PORT, "protocol": "TCP"}],
    }


def cluster_role(name: str, read: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Returns a role of the sandbox, which may read these resources by API group."""
    verbs = ["get", "list", "watch"]
    rules = [{"apiGroups": [group], "resources": [*of], "verbs": verbs} for group, of in read.items()]
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": f"sandbox:{name}"},
        "rules": rules,
    }


def bind(name: str, role: str, subject: Mapping[str, str]) -> dict[str, Any]:
    """Returns the binding of a role to a subject in all namespaces."""
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"sandbox:{name}"},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [dict(subject)],
    }
