"""Muster's controller: namespace, RBAC, Deployment, and the objects that keep it running."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.core.v1 import (
    Namespace,
    ResourceQuota,
    ResourceQuotaSpecArgs,
    ScopedResourceSelectorRequirementArgs,
    ScopeSelectorArgs,
    ServiceAccount,
)
from pulumi_kubernetes.meta.v1 import LabelSelectorArgs, ObjectMetaArgs
from pulumi_kubernetes.networking.v1 import (
    NetworkPolicy,
    NetworkPolicyEgressRuleArgs,
    NetworkPolicyIngressRuleArgs,
    NetworkPolicyPeerArgs,
    NetworkPolicyPortArgs,
    NetworkPolicySpecArgs,
)
from pulumi_kubernetes.policy.v1 import PodDisruptionBudget, PodDisruptionBudgetSpecArgs
from pulumi_kubernetes.rbac.v1 import (
    ClusterRole,
    ClusterRoleBinding,
    Role,
    RoleBinding,
    RoleRefArgs,
    SubjectArgs,
)

from components.base import Component
from components.controller.pod import HTTP_PORT, LABELS, NAME, NAMESPACE, PRIORITY_CLASS, SURGE, deployment
from components.controller.rbac import CLUSTER_RULES, lease_rules
from settings.model.controller import Controller

API_SERVER_PORTS = (443, 6443)  # of GKE, and of clusters made by kubeadm
RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True)
class ReconcilerArgs:
    """`node_selector` selects the nodes that it may run on."""

    controller: Controller
    image: pulumi.Input[str]
    node_selector: Mapping[str, str]


class Reconciler(Component):
    """Replicas of `python -m muster controller` under a ServiceAccount with the least privileges."""

    def __init__(self, name: str, args: ReconcilerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Reconciler", name, opts)
        settings = args.controller
        restricted = {"pod-security.kubernetes.io/enforce": "restricted"}
        self.namespace = Namespace(
            NAMESPACE, metadata=ObjectMetaArgs(name=NAMESPACE, labels=restricted), opts=self.child()
        )
        account = ServiceAccount(NAME, metadata=_metadata(), opts=self._inside())
        before = [
            account,
            *self._permissions(),
            self._network_policy(settings),
            self._critical_pods(settings),
        ]
        self.deployment = Deployment(
            NAME,
            metadata=_metadata(),
            spec=deployment(settings, args.image, args.node_selector),
            opts=self.child(depends_on=before),
        )
        self._disruption_budget(settings)
        self.register_outputs({"image": args.image})

    def _inside(self) -> pulumi.ResourceOptions:
        return self.child(depends_on=[self.namespace])

    def _permissions(self) -> list[pulumi.Resource]:
        """Declares and returns the bindings: cluster-wide rights, and those on the Lease in its namespace."""
        subjects = [SubjectArgs(kind="ServiceAccount", name=NAME, namespace=NAMESPACE)]
        everywhere = ObjectMetaArgs(name=NAME, labels=LABELS)
        cluster_role = ClusterRole(NAME, metadata=everywhere, rules=CLUSTER_RULES, opts=self.child())
        role = Role(NAME, metadata=_metadata(), rules=lease_rules(NAME), opts=self._inside())
        return [
            ClusterRoleBinding(
                NAME,
                metadata=everywhere,
                role_ref=RoleRefArgs(api_group=RBAC, kind="ClusterRole", name=NAME),
                subjects=subjects,
                opts=self.child(depends_on=[cluster_role]),
            ),
            RoleBinding(
                NAME,
                metadata=_metadata(),
                role_ref=RoleRefArgs(api_group=RBAC, kind="Role", name=NAME),
                subjects=subjects,
                opts=self.child(depends_on=[role]),
            ),
        ]

    def _network_policy(self, settings: Controller) -> NetworkPolicy:
        """Allows egress to the API server only (no DNS: pods get its address from the environment), and
        ingress to /metrics; kubelets' probes pass every policy."""
        scrapers = [
            NetworkPolicyPeerArgs(
                namespace_selector=LabelSelectorArgs(match_labels={"kubernetes.io/metadata.name": name})
            )
            for name in settings.metrics_from
        ]
        metrics = NetworkPolicyIngressRuleArgs(from_=scrapers, ports=[_tcp(HTTP_PORT)])
        return NetworkPolicy(
            NAME,
            metadata=_metadata(),
            spec=NetworkPolicySpecArgs(
                pod_selector=LabelSelectorArgs(match_labels=LABELS),
                policy_types=["Ingress", "Egress"],
                # an empty `from` would allow every source
                ingress=[metrics] if scrapers else [],
                egress=[NetworkPolicyEgressRuleArgs(ports=[_tcp(port) for port in API_SERVER_PORTS])],
            ),
            opts=self._inside(),
        )

    def _critical_pods(self, settings: Controller) -> ResourceQuota:
        """Declares the quota without which GKE refuses pods of system priority classes (Kubernetes,
        "Limit Priority Class consumption by default")."""
        selector = ScopedResourceSelectorRequirementArgs(
            scope_name="PriorityClass", operator="In", values=[PRIORITY_CLASS]
        )
        return ResourceQuota(
            "muster-critical-pods",
            metadata=ObjectMetaArgs(name="critical-pods", namespace=NAMESPACE),
            spec=ResourceQuotaSpecArgs(
                hard={"pods": str(2 * settings.replicas + SURGE)},  # ending pods count too
                scope_selector=ScopeSelectorArgs(match_expressions=[selector]),
            ),
            opts=self._inside(),
        )

    def _disruption_budget(self, settings: Controller) -> None:
        """Declares a budget, but not for a single replica: its node could never be drained."""
        if settings.replicas > 1:
            PodDisruptionBudget(
                NAME,
                metadata=_metadata(),
                spec=PodDisruptionBudgetSpecArgs(
                    min_available=1, selector=LabelSelectorArgs(match_labels=LABELS)
                ),
                opts=self._inside(),
            )


def _metadata() -> ObjectMetaArgs:
    return ObjectMetaArgs(name=NAME, namespace=NAMESPACE, labels=LABELS)


def _tcp(port: int) -> NetworkPolicyPortArgs:
    return NetworkPolicyPortArgs(port=port, protocol="TCP")
