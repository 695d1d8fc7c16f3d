"""Services that KubeRay creates for a tenant stay inside the cluster and front the tenant's own pods.

KubeRay copies headService and serveService except for name, namespace, selector and some labels
(ray-operator/controllers/ray/common/service.go at v1.6.2 and v1.7.0). As externalIPs of a Service intercept
traffic of all namespaces (CVE-2020-8554), and other controllers act on annotations, the allowed fields are
listed, not the refused ones. A RayCluster's own annotations reach an Ingress or Route only, which
enableIngress creates.
"""

import json
from collections.abc import Sequence

from components.admission.ray import (
    RAY_KINDS,
    Engine,
    Policy,
    optional,
    spec_is_written_by_users,
    value_at,
)
from components.admission.templates import head
from muster.cluster.jobs.job_kind import JobKind
from muster.cluster.jobs.rayservice import RAY_SERVICE, UPGRADE_REMEDY
from settings.model.tenants.tenant import TENANT

EMPTY = '""'
# KubeRay sets the selector, and the API server drops the status.
SERVICE_FIELDS = {
    "": ("apiVersion", "kind", "metadata", "spec", "status"),
    "metadata": ("name", "namespace", "labels", "annotations"),
    "spec": ("type", "ports", "selector", "clusterIP", "publishNotReadyAddresses"),
}
PORT_FIELDS = ("name", "port", "targetPort", "protocol", "appProtocol")
PLAIN_PREFIX = "app.kubernetes.io/"


def services(kind: JobKind) -> list[str]:
    """Paths of the Services that a user writes."""
    return [f"{head(kind)}.headService", *(["spec.serveService"] if kind is RAY_SERVICE else [])]


def cluster_internal_services(engine: Engine) -> list[Policy]:
    """Returns policies against load balancers and ingresses, which would expose Ray's unauthenticated ports.

    Users reach the dashboard and the job port with `kubectl port-forward`, which the API server
    authenticates, and Ray Serve through the tenant's Gateway.
    """
    return [
        Policy(
            name=f"muster-{kind.plural}-stay-inside",
            resources=(kind.plural,),
            operations=("CREATE", "UPDATE"),
            rules=_internal_rules(kind) | _plain_rules(kind),
            namespaces=TENANT,
            condition=spec_is_written_by_users(engine),
        )
        for kind in RAY_KINDS
    ]


def _internal_rules(kind: JobKind) -> dict[str, str]:
    types = [f"{head(kind)}.serviceType", *(f"{service}.spec.type" for service in services(kind))]
    required = {f'{value_at("object", path, EMPTY)} in ["", "ClusterIP"]': path for path in types}
    ingress = f"{head(kind)}.enableIngress"
    required[f"!{value_at('object', ingress, 'false')}"] = ingress
    rules = {
        rule: (
            f"Ray's ports have no authentication, so they stay inside the cluster: remove {path}, and reach "
            "the dashboard with kubectl port-forward"
        )
        for rule, path in required.items()
    }
    network_policy = f"{kind.ray_cluster}.networkPolicy"
    rules[f"!{optional('object', network_policy)}.hasValue()"] = (
        "KubeRay would create a NetworkPolicy, which admits traffic that the policies of this namespace keep "
        f"out: remove {network_policy}"
    )
    if kind is RAY_SERVICE:
        options = "spec.upgradeStrategy.clusterUpgradeOptions"
        rules[f"!{optional('object', options)}.hasValue()"] = (
            "KubeRay would create a Gateway and, for an upgrade, a second cluster, for which a queue has no "
            f"quota: remove {options}, and {UPGRADE_REMEDY}"
        )
    return rules


def _plain_rules(kind: JobKind) -> dict[str, str]:
    rules: dict[str, str] = {}
    keyed = [f"{kind.ray_cluster}.headServiceAnnotations"]
    for service in services(kind):
        for part, fields in SERVICE_FIELDS.items():
            path = f"{service}.{part}".rstrip(".")
            rules[f"[?{optional('object', path)}].all(o, {_only('o', fields)})"] = (
                f"{path} may have only {', '.join(fields)}: remove its other fields"
            )
        ports = f"{service}.spec.ports"
        rules[f"[?{optional('object', ports)}].all(ps, ps.all(p, {_only('p', PORT_FIELDS)}))"] = (
            f"{ports} may have only {', '.join(PORT_FIELDS)}: remove their other fields"
        )
        address = f"{service}.spec.clusterIP"
        rules[f'{value_at("object", address, EMPTY)} in ["", "None"]'] = (
            f"the API server chooses the address of a Service: remove {address}, or set it to None"
        )
        keyed += [f"{service}.metadata.{what}" for what in ("labels", "annotations")]
    for path in keyed:
        plain = f'!k.contains("/") || k.startsWith("{PLAIN_PREFIX}")'
        rules[f"[?{optional('object', path)}].all(m, m.all(k, {plain}))"] = (
            f"{path} may have only keys without a prefix, and {PLAIN_PREFIX}…, as other controllers act on "
            "those with one: remove these"
        )
    return rules


def _only(value: str, fields: Sequence[str]) -> str:
    """CEL for: the object has no other fields. It is dynamic, as CEL does not iterate over typed objects."""
    return f"dyn({value}).all(k, k in {json.dumps(list(fields))})"
