"""Targets of Google's managed Prometheus: Ray, KubeRay's operator, and the engine."""

from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.core.v1 import Secret, ServiceAccount
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs
from pulumi_kubernetes.rbac.v1 import (
    ClusterRoleBinding,
    PolicyRuleArgs,
    Role,
    RoleBinding,
    RoleRefArgs,
    SubjectArgs,
)

from components.base import Component
from components.controller.pod import LABELS as MUSTER_LABELS
from components.controller.pod import NAMESPACE as MUSTER
from components.operators.kuberay import NAMESPACE as KUBERAY
from components.operators.kueue import NAMESPACE as KUEUE
from settings.model.observability import COLLECTOR_NAMESPACES

API_VERSION = "monitoring.googleapis.com/v1"
RBAC = "rbac.authorization.k8s.io"
READER = "metrics-reader"
# The collectors' service accounts (GKE, "managed collection"), which read the token.
COLLECTORS = [
    SubjectArgs(kind="ServiceAccount", name="collector", namespace=name) for name in COLLECTOR_NAMESPACES
]


@dataclass(frozen=True)
class ScrapingArgs:
    """`kuberay`: the operator runs in the cluster; `ray`: scrape the Ray clusters, which GKE's Ray add-on
    may do by itself."""

    engine: str
    kuberay: bool
    ray: bool
    interval_seconds: int


class Scraping(Component):
    """A PodMonitoring for each target, ClusterPodMonitoring for Ray clusters."""

    def __init__(self, name: str, args: ScrapingArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Scraping", name, opts)
        self._interval = f"{args.interval_seconds}s"
        if args.ray:
            self._scrape("ray", None, {"ray.io/is-ray-node": "yes"}, {"port": "metrics"})
        if args.kuberay:
            labels = {"app.kubernetes.io/name": "kuberay-operator"}
            self._scrape("kuberay-operator", KUBERAY, labels, {"port": "http"})
        if args.engine == "muster":
            self._scrape("muster-controller", MUSTER, MUSTER_LABELS, {"port": "http"})
        if args.engine == "kueue":
            self._scrape_kueue()
        self.register_outputs({})

    def _scrape(
        self,
        name: str,
        namespace: str | None,
        labels: dict[str, str],
        endpoint: dict[str, Any],
        after: list[pulumi.Resource] | None = None,
    ) -> None:
        """Declares the scraping of pods in one namespace, or in all if it is None."""
        CustomResource(
            self.named(name),
            api_version=API_VERSION,
            kind="PodMonitoring" if namespace else "ClusterPodMonitoring",
            metadata=ObjectMetaArgs(name=name, namespace=namespace),
            spec={
                "selector": {"matchLabels": labels},
                "endpoints": [{**endpoint, "interval": self._interval}],
            },
            opts=self.child(depends_on=after or []),
        )

    def _scrape_kueue(self) -> None:
        """Scrapes Kueue with TLS (its certificate is self-signed) and a token, as it checks RBAC."""
        secret = {"secret": {"name": READER, "key": "token"}}
        endpoint = {
            "port": "metrics",
            "scheme": "https",
            "tls": {"insecureSkipVerify": True},
            "authorization": {"type": "Bearer", "credentials": secret},
        }
        labels = {"app.kubernetes.io/name": "kueue", "control-plane": "controller-manager"}
        self._scrape("kueue", KUEUE, labels, endpoint, self._kueue_token())

    def _kueue_token(self) -> list[pulumi.Resource]:
        """Declares a token that may only read Kueue's metrics, and the collectors' right to read it."""
        inside = ObjectMetaArgs(name=READER, namespace=KUEUE)
        account = ServiceAccount(self.named(READER), metadata=inside, opts=self.child())
        annotations = {"kubernetes.io/service-account.name": READER}
        token = Secret(
            self.named(READER),
            metadata=ObjectMetaArgs(name=READER, namespace=KUEUE, annotations=annotations),
            type="kubernetes.io/service-account-token",
            # filled in by Kubernetes
            opts=self.child(depends_on=[account], ignore_changes=["data"]),
        )
        may_scrape = ClusterRoleBinding(
            self.named(READER),
            metadata=ObjectMetaArgs(name=f"muster-kueue-{READER}"),
            role_ref=RoleRefArgs(api_group=RBAC, kind="ClusterRole", name=f"kueue-{READER}"),
            subjects=[SubjectArgs(kind="ServiceAccount", name=READER, namespace=KUEUE)],
            opts=self.child(depends_on=[account]),
        )
        read = PolicyRuleArgs(
            api_groups=[""], resources=["secrets"], resource_names=[READER], verbs=["get", "list", "watch"]
        )
        role = Role(self.named(READER), metadata=inside, rules=[read], opts=self.child())
        may_read = RoleBinding(
            self.named(READER),
            metadata=inside,
            role_ref=RoleRefArgs(api_group=RBAC, kind="Role", name=READER),
            subjects=COLLECTORS,
            opts=self.child(depends_on=[role]),
        )
        return [token, may_scrape, may_read]
