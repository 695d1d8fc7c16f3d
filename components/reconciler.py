"""Muster's controller: its namespace, identity and Deployment."""

from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apps.v1 import Deployment, DeploymentSpecArgs, DeploymentStrategyArgs
from pulumi_kubernetes.core.v1 import (
    CapabilitiesArgs,
    ContainerArgs,
    Namespace,
    PodSecurityContextArgs,
    PodSpecArgs,
    PodTemplateSpecArgs,
    ResourceRequirementsArgs,
    SeccompProfileArgs,
    SecurityContextArgs,
    ServiceAccount,
)
from pulumi_kubernetes.meta.v1 import LabelSelectorArgs, ObjectMetaArgs
from pulumi_kubernetes.rbac.v1 import (
    ClusterRole,
    ClusterRoleBinding,
    Role,
    RoleBinding,
    RoleRefArgs,
    SubjectArgs,
)

from components.base import Component
from components.reconciler_rbac import CLUSTER_RULES, NAMESPACE_RULES

NAMESPACE = "muster-system"
NAME = "muster-controller"
LABELS = {"app.kubernetes.io/name": NAME}
USER_ID = 65532  # "nonroot" in distroless images


@dataclass(frozen=True)
class ReconcilerArgs:
    image: str


class Reconciler(Component):
    """One replica of `python -m muster controller`, under a ServiceAccount that may do only what it does."""

    def __init__(self, name: str, args: ReconcilerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Reconciler", name, opts)
        namespace = Namespace(NAMESPACE, metadata=ObjectMetaArgs(name=NAMESPACE), opts=self.child())
        account = ServiceAccount(NAME, metadata=_metadata(), opts=self.child(depends_on=[namespace]))
        bindings = self._permissions(namespace)
        self.deployment = Deployment(
            NAME,
            metadata=_metadata(),
            spec=_deployment(args.image),
            opts=self.child(depends_on=[account, *bindings]),
        )
        self.register_outputs({"image": args.image})

    def _permissions(self, namespace: Namespace) -> list[pulumi.Resource]:
        """The bindings: of its rights in the cluster, and of those in its own namespace (the lease)."""
        subjects = [SubjectArgs(kind="ServiceAccount", name=NAME, namespace=NAMESPACE)]
        everywhere = ObjectMetaArgs(name=NAME, labels=LABELS)
        group = "rbac.authorization.k8s.io"
        cluster_role = ClusterRole(NAME, metadata=everywhere, rules=CLUSTER_RULES, opts=self.child())
        role = Role(
            NAME, metadata=_metadata(), rules=NAMESPACE_RULES, opts=self.child(depends_on=[namespace])
        )
        return [
            ClusterRoleBinding(
                NAME,
                metadata=everywhere,
                role_ref=RoleRefArgs(api_group=group, kind="ClusterRole", name=NAME),
                subjects=subjects,
                opts=self.child(depends_on=[cluster_role]),
            ),
            RoleBinding(
                NAME,
                metadata=_metadata(),
                role_ref=RoleRefArgs(api_group=group, kind="Role", name=NAME),
                subjects=subjects,
                opts=self.child(depends_on=[role]),
            ),
        ]


def _metadata() -> ObjectMetaArgs:
    return ObjectMetaArgs(name=NAME, namespace=NAMESPACE, labels=LABELS)


def _deployment(image: str) -> DeploymentSpecArgs:
    return DeploymentSpecArgs(
        replicas=1,
        # Never two at once: a rolling update would start the second before the first has ended.
        strategy=DeploymentStrategyArgs(type="Recreate"),
        selector=LabelSelectorArgs(match_labels=LABELS),
        template=PodTemplateSpecArgs(metadata=ObjectMetaArgs(labels=LABELS), spec=_pod(image)),
    )


def _pod(image: str) -> PodSpecArgs:
    return PodSpecArgs(
        service_account_name=NAME,
        security_context=PodSecurityContextArgs(
            run_as_non_root=True,
            run_as_user=USER_ID,
            run_as_group=USER_ID,
            seccomp_profile=SeccompProfileArgs(type="RuntimeDefault"),
        ),
        containers=[
            ContainerArgs(
                name="controller",
                image=image,
                command=["python", "-m", "muster"],
                args=["controller"],
                resources=ResourceRequirementsArgs(
                    requests={"cpu": "100m", "memory": "128Mi"}, limits={"cpu": "1", "memory": "256Mi"}
                ),
                security_context=SecurityContextArgs(
                    allow_privilege_escalation=False,
                    read_only_root_filesystem=True,
                    capabilities=CapabilitiesArgs(drop=["ALL"]),
                ),
            )
        ],
    )
