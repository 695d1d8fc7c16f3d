"""The rights in Kubernetes of the account that deploys queues and tenants without `roles/container.admin`."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs
from pulumi_kubernetes.rbac.v1 import (
    ClusterRole,
    ClusterRoleBinding,
    PolicyRuleArgs,
    RoleRefArgs,
    SubjectArgs,
)

from components.base import Component
from components.tenants.team_access import (
    RBAC,
    STORAGE_RULES,
    TEAM_RULES,
    TOKEN_RULES,
    VIEWER_RULES,
    WRITE,
)
from muster.objects.names import KUEUE_GROUP

DEPLOYER = "muster-tenants-deployer"


def _rule(group: str, resources: Sequence[str], verbs: Sequence[str] = WRITE) -> PolicyRuleArgs:
    return PolicyRuleArgs(api_groups=[group], resources=list(resources), verbs=list(verbs))


# Not here: pods, nodes, operators, MutatingAdmissionPolicies, and the verbs `bind` and `escalate`.
RULES = [
    _rule("", ["namespaces", "limitranges", "resourcequotas", "serviceaccounts"]),
    _rule("", ["persistentvolumes", "persistentvolumeclaims"]),
    _rule("networking.k8s.io", ["networkpolicies"]),
    _rule("resource.k8s.io", ["resourceclaimtemplates"]),
    _rule("gateway.networking.k8s.io", ["gateways", "httproutes"]),
    _rule("networking.gke.io", ["gcpbackendpolicies", "healthcheckpolicies"]),
    _rule("secrets-store.csi.x-k8s.io", ["secretproviderclasses"]),
    _rule(
        KUEUE_GROUP,
        [
            "admissionchecks",
            "clusterqueues",
            "cohorts",
            "localqueues",
            "provisioningrequestconfigs",
            "resourceflavors",
            "topologies",
        ],
    ),
    # Policies that name tenants, their priorities and their accounts.
    _rule(
        "admissionregistration.k8s.io",
        ["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
    ),
    _rule(RBAC, ["roles", "rolebindings", "clusterroles", "clusterrolebindings"]),
    # The API server lets an account grant only rights that it has itself (RBAC, "Privilege escalation
    # prevention"), so it has the rights of the teams.
    *TEAM_RULES,
    *TOKEN_RULES,
    *STORAGE_RULES,
    *VIEWER_RULES,
]


@dataclass(frozen=True)
class TenantsDeployerArgs:
    """`account`: the e-mail address of a Google service account, which is its name in Kubernetes."""

    account: str


class TenantsDeployer(Component):
    """A ClusterRole with the rights that the part `tenants` needs, and its binding to the account."""

    def __init__(
        self, name: str, args: TenantsDeployerArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("TenantsDeployer", name, opts)
        metadata = ObjectMetaArgs(name=DEPLOYER)
        role = ClusterRole(self.named(DEPLOYER), metadata=metadata, rules=RULES, opts=self.child())
        ClusterRoleBinding(
            self.named(DEPLOYER),
            metadata=metadata,
            role_ref=RoleRefArgs(api_group=RBAC, kind="ClusterRole", name=DEPLOYER),
            subjects=[SubjectArgs(kind="User", name=args.account, api_group=RBAC)],
            opts=self.child(depends_on=[role]),
        )
        self.register_outputs({})
