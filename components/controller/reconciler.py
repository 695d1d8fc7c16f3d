"""Muster's controller: namespace, RBAC, Deployment, and the objects that keep it running."""

from collections.abc import Mapping

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
from components.cluster_egress import cluster_egress, tcp
from components.controller.flow_control import flow_schemas
from components.controller.ingress import ingress_from
from components.controller.pod import (
    LABELS,
    NAME,
    NAMESPACE,
    PRIORITY_CLASS,
    SURGE,
    PodArgs,
    deployment,
)
from components.controller.rbac import CLUSTER_RULES, JOB_DELETION_RULES, lease_rules
from components.foundation.google_cloud import IDENTITY_ANNOTATION
from settings.model.controller import Controller

API_SERVER_PORTS = (443, 6443)  # of GKE (and of Google's APIs), and of clusters made by kubeadm
RBAC = "rbac.authorization.k8s.io"


class Reconciler(Component):
    """Replicas of `python -m muster controller` under a ServiceAccount with the least privileges."""

    def __init__(self, name: str, args: PodArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Reconciler", name, opts)
        settings = args.controller
        restricted = {"pod-security.kubernetes.io/enforce": "restricted"}
        self.namespace = Namespace(
            self.named(NAMESPACE),
            metadata=ObjectMetaArgs(name=NAMESPACE, labels=restricted),
            opts=self.child(),
        )
        email = args.journal.email if args.journal is not None else None
        annotations = {IDENTITY_ANNOTATION: email} if email is not None else None
        account = ServiceAccount(self.named(NAME), metadata=_metadata(annotations), opts=self._inside())
        before = [
            account,
            *self._permissions(settings),
            self._network_policy(settings, reaches_bucket=email is not None),
            self._critical_pods(settings),
            *flow_schemas(self.named, self.child),
        ]
        self.deployment = Deployment(
            self.named(NAME),
            metadata=_metadata(),
            spec=deployment(args),
            opts=self.child(depends_on=before),
        )
        self._disruption_budget(settings)
        self.register_outputs({"image": args.image})

    def _inside(self) -> pulumi.ResourceOptions:
        return self.child(depends_on=[self.namespace])

    def _permissions(self, settings: Controller) -> list[pulumi.Resource]:
        """Declares and returns the bindings: cluster-wide rights, and rights on the Lease in its
        namespace."""
        subjects = [SubjectArgs(kind="ServiceAccount", name=NAME, namespace=NAMESPACE)]
        everywhere = ObjectMetaArgs(name=NAME, labels=LABELS)
        deletes_jobs = settings.retention.after_deactivated_seconds is not None
        rules = [*CLUSTER_RULES, *(JOB_DELETION_RULES if deletes_jobs else ())]
        cluster_role = ClusterRole(self.named(NAME), metadata=everywhere, rules=rules, opts=self.child())
        role = Role(self.named(NAME), metadata=_metadata(), rules=lease_rules(NAME), opts=self._inside())
        return [
            ClusterRoleBinding(
                self.named(NAME),
                metadata=everywhere,
                role_ref=RoleRefArgs(api_group=RBAC, kind="ClusterRole", name=NAME),
                subjects=subjects,
                opts=self.child(depends_on=[cluster_role]),
            ),
            RoleBinding(
                self.named(NAME),
                metadata=_metadata(),
                role_ref=RoleRefArgs(api_group=RBAC, kind="Role", name=NAME),
                subjects=subjects,
                opts=self.child(depends_on=[role]),
            ),
        ]

    def _network_policy(self, settings: Controller, *, reaches_bucket: bool) -> NetworkPolicy:
        """Allows egress to the API server only (no DNS: pods get its address from the environment) and to
        what mounts a bucket, and ingress to /metrics; kubelets' probes pass every policy."""
        return NetworkPolicy(
            self.named(NAME),
            metadata=_metadata(),
            spec=NetworkPolicySpecArgs(
                pod_selector=LabelSelectorArgs(match_labels=LABELS),
                policy_types=["Ingress", "Egress"],
                ingress=ingress_from(settings.metrics_from),
                egress=[
                    NetworkPolicyEgressRuleArgs(ports=tcp(API_SERVER_PORTS)),
                    *(cluster_egress(on_gke=True) if reaches_bucket else ()),
                ],
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
            self.named("muster-critical-pods"),
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
                self.named(NAME),
                metadata=_metadata(),
                spec=PodDisruptionBudgetSpecArgs(
                    min_available=1, selector=LabelSelectorArgs(match_labels=LABELS)
                ),
                opts=self._inside(),
            )


def _metadata(annotations: Mapping[str, pulumi.Input[str]] | None = None) -> ObjectMetaArgs:
    return ObjectMetaArgs(name=NAME, namespace=NAMESPACE, labels=LABELS, annotations=annotations)
