"""The cluster's DNS: CoreDNS in a pod of kube-system, whose namespace NetworkPolicies of tenants allow."""

from typing import Any

from sandbox.cluster.kinds import Object
from sandbox.cluster.kubectl import Kubectl
from sandbox.realnodes.access import bind, cluster_role
from sandbox.realnodes.addresses import DNS_ADDRESS
from sandbox.realnodes.deployments import wait_available
from sandbox.realnodes.node_settings import DOMAIN
from tools.toolchain.tools import TOOLS

NAME, NAMESPACE = "coredns", "kube-system"
IMAGE = "registry.k8s.io/coredns/coredns"
_LABELS = {"k8s-app": "kube-dns"}
_COREFILE = f"""\
.:53 {{
    errors
    cache 1
    kubernetes {DOMAIN} in-addr.arpa {{
        ttl 1
        pods insecure
    }}
}}
"""


def start_dns(kubectl: Kubectl) -> None:
    """Starts the DNS, and waits until it is available. Raises StepError."""
    kubectl.create(dns_objects())
    wait_available(kubectl, NAMESPACE, NAME)


def dns_objects() -> list[Object]:
    """Returns the Deployment, its account, and the Service with the address that kubelets give pods."""
    read = {"": ("services", "pods", "namespaces"), "discovery.k8s.io": ("endpointslices",)}
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}
    ports = [{"name": p.lower(), "port": 53, "protocol": p, "targetPort": 53} for p in ("UDP", "TCP")]
    return [
        cluster_role(NAME, read),
        bind(NAME, f"sandbox:{NAME}", account),
        _object("v1", "ServiceAccount"),
        _object("v1", "ConfigMap", data={"Corefile": _COREFILE}),
        _object("apps/v1", "Deployment", spec=_deployment()),
        _object("v1", "Service", spec={"clusterIP": DNS_ADDRESS, "selector": _LABELS, "ports": ports}),
    ]


def _deployment() -> dict[str, Any]:
    container = {
        "name": NAME,
        "image": f"{IMAGE}:{TOOLS[NAME].version}",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "readinessProbe": {"tcpSocket": {"port": 53}, "periodSeconds": 2},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns"}],
        "securityContext": {"readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False},
    }
    pod = {
        "serviceAccountName": NAME,
        "dnsPolicy": "Default",
        "containers": [container],
        "volumes": [{"name": "config", "configMap": {"name": NAME}}],
    }
    template = {"metadata": {"labels": _LABELS}, "spec": pod}
    return {"replicas": 1, "selector": {"matchLabels": _LABELS}, "template": template}


def _object(api_version: str, kind: str, **fields: Any) -> Object:
    metadata = {"name": NAME, "namespace": NAMESPACE}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}
