"""RBAC of a team's group: run Ray in its namespace, and view the queues."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs
from pulumi_kubernetes.rbac.v1 import (
    ClusterRole,
    ClusterRoleBinding,
    PolicyRuleArgs,
    Role,
    RoleBinding,
    RoleRefArgs,
    SubjectArgs,
)

from components.base import Component
from muster.cluster.jobs.kinds import RESOURCES, SCHEDULES
from muster.objects.names import KUEUE_GROUP
from settings.model.tenants.tenant import Tenant

RAY_USER, QUEUE_VIEWER = "ray-user", "muster-queue-viewer"
RBAC = "rbac.authorization.k8s.io"
READ = ("get", "list", "watch")
WRITE = (*READ, "create", "update", "patch", "delete")


def _rule(group: str, resources: Sequence[str], verbs: Sequence[str]) -> PolicyRuleArgs:
    return PolicyRuleArgs(api_groups=[group], resources=list(resources), verbs=list(verbs))


# No writes to statuses of Ray objects or to Workloads, which would impersonate the operator or the engine
# (components/admission/ray.py). No creation of pods, which would bypass the queues.
TEAM_RULES = [
    *(_rule(group, plurals, WRITE) for group, plurals in RESOURCES.items()),
    *(_rule(group, [f"{p}/status" for p in plurals], ("get",)) for group, plurals in RESOURCES.items()),
    *(_rule(it.group, [it.plural], WRITE) for it in SCHEDULES),
    _rule(KUEUE_GROUP, ["localqueues", "workloads"], READ),
    _rule("", ["pods", "pods/log", "services", "events", "persistentvolumeclaims", "resourcequotas"], READ),
    _rule("resource.k8s.io", ["resourceclaimtemplates"], READ),
    _rule("", ["configmaps"], WRITE),
    # Access to Ray's dashboard and job port, authenticated by the API server.
    _rule("", ["pods/portforward"], ("get", "create")),
]
# For `kubectl get secret <Ray cluster>`: the team's pods could read it anyway.
TOKEN_RULES = [_rule("", ["secrets"], ("get",))]
# Bounded by the ResourceQuota of `storage`.
STORAGE_RULES = [_rule("", ["persistentvolumeclaims"], WRITE)]

VIEWER_RULES = [
    _rule(KUEUE_GROUP, ["clusterqueues", "cohorts", "resourceflavors", "workloadpriorityclasses"], READ),
    _rule("resource.k8s.io", ["deviceclasses"], READ),
]


@dataclass(frozen=True)
class TeamAccessArgs:
    """`namespaces`: the tenants', by name."""

    tenants: Sequence[Tenant]
    namespaces: Mapping[str, pulumi.Resource]


class TeamAccess(Component):
    """A Role and its binding in each namespace that has a group, and a view of the queues for all groups."""

    def __init__(self, name: str, args: TeamAccessArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("TeamAccess", name, opts)
        groups = [tenant.group for tenant in args.tenants if tenant.group]
        for tenant in args.tenants:
            if tenant.group:
                self._team(tenant, tenant.group, args.namespaces[tenant.namespace])
        if groups:
            self._viewers(list(dict.fromkeys(groups)))
        self.register_outputs({"groups": groups})

    def _team(self, tenant: Tenant, group: str, namespace: pulumi.Resource) -> None:
        metadata = ObjectMetaArgs(name=RAY_USER, namespace=tenant.namespace)
        role = Role(
            self.named(f"{tenant.namespace}/{RAY_USER}"),
            metadata=metadata,
            rules=_rules(tenant),
            opts=self.child(depends_on=[namespace], deleted_with=namespace),
        )
        RoleBinding(
            self.named(f"{tenant.namespace}/{RAY_USER}"),
            metadata=metadata,
            role_ref=RoleRefArgs(api_group=RBAC, kind="Role", name=RAY_USER),
            subjects=[_group(group)],
            opts=self.child(depends_on=[role], deleted_with=namespace),
        )

    def _viewers(self, groups: list[str]) -> None:
        viewer = self.named(QUEUE_VIEWER)  # also in the cluster, which other tenants of a program share
        metadata = ObjectMetaArgs(name=viewer)
        role = ClusterRole(viewer, metadata=metadata, rules=VIEWER_RULES, opts=self.child())
        ClusterRoleBinding(
            viewer,
            metadata=metadata,
            role_ref=RoleRefArgs(api_group=RBAC, kind="ClusterRole", name=viewer),
            subjects=[_group(group) for group in groups],
            opts=self.child(depends_on=[role]),
        )


def _rules(tenant: Tenant) -> list[PolicyRuleArgs]:
    tokens = TOKEN_RULES if tenant.ray_auth else []
    return [*TEAM_RULES, *tokens, *(STORAGE_RULES if tenant.storage is not None else [])]


def _group(name: str) -> SubjectArgs:
    return SubjectArgs(kind="Group", name=name, api_group=RBAC)
