"""Permissions in the cluster (CIS GKE Benchmark 1.9, section 4.1)."""

from collections.abc import Iterator

from policies.reading import pick
from policies.rule import Resource, resource_rule

RBAC = "kubernetes:rbac.authorization.k8s.io"
BINDINGS = (f"{RBAC}:ClusterRoleBinding", f"{RBAC}:RoleBinding")
ROLES = (f"{RBAC}:ClusterRole", f"{RBAC}:Role")
# The group that contains every group of the domain that RBAC may name.
ALL_GROUPS = "gke-security-groups@"
ESCALATING = frozenset({"bind", "escalate", "impersonate"})
EVERYONE = frozenset({"system:anonymous", "system:authenticated", "system:unauthenticated"})


@resource_rule(
    "cis-gke-4.1.3-no-wildcards",
    *ROLES,
    source="CIS GKE 1.9, 4.1.3; Checkov CKV_K8S_49",
    severity="high",
)
def no_wildcards(role: Resource) -> Iterator[str]:
    """A role lists its permissions: a wildcard also covers APIs that are added to the cluster later."""
    for i, rule in enumerate(role.props.get("rules") or ()):
        for field in ("apiGroups", "resources", "verbs"):
            if "*" in (pick(rule, field) or ()):
                yield f'list the values of rules[{i}].{field} instead of "*"'


@resource_rule(
    "cis-gke-4.1.8-no-bindings-to-everyone",
    *BINDINGS,
    source="CIS GKE 1.9, 4.1.8 to 4.1.10",
    severity="critical",
)
def no_bindings_to_everyone(binding: Resource) -> Iterator[str]:
    """A role is bound to specific subjects: system:authenticated includes every Google account."""
    for i, subject in enumerate(binding.props.get("subjects") or ()):
        if subject["name"] in EVERYONE:
            yield f"bind subjects[{i}] to a group of your own: it is {subject['name']}"


@resource_rule(
    "muster-no-bindings-to-all-groups",
    *BINDINGS,
    source="GKE, Google Groups for RBAC",
    severity="critical",
)
def no_bindings_to_all_groups(binding: Resource) -> Iterator[str]:
    """A role is bound to a team's group, not to gke-security-groups, of which all teams' groups are
    members."""
    for i, subject in enumerate(binding.props.get("subjects") or ()):
        if subject["name"].startswith(ALL_GROUPS):
            yield f"bind subjects[{i}] to one team's group: all groups are in {subject['name']}"


@resource_rule("cis-gke-4.1.1-no-cluster-admin", *BINDINGS, source="CIS GKE 1.9, 4.1.1", severity="critical")
def no_cluster_admin(binding: Resource) -> Iterator[str]:
    """The role cluster-admin, which may do everything, is not bound: IAM has administrators, in an
    emergency."""
    if pick(binding.props, "roleRef", "name") == "cluster-admin":
        yield "bind a role with the permissions that are needed: it is cluster-admin"


@resource_rule("cis-gke-4.1.6-no-system-masters", *BINDINGS, source="CIS GKE 1.9, 4.1.6", severity="critical")
def no_system_masters(binding: Resource) -> Iterator[str]:
    """The group system:masters is not used: no role can take its permissions away."""
    for i, subject in enumerate(binding.props.get("subjects") or ()):
        if subject["name"] == "system:masters":
            yield f"bind subjects[{i}] to a group of your own: it is system:masters"


@resource_rule("cis-gke-4.1.7-no-escalation", *ROLES, source="CIS GKE 1.9, 4.1.7", severity="high")
def no_escalation(role: Resource) -> Iterator[str]:
    """A role does not grant the verbs bind, escalate and impersonate, by which its holders get others'
    permissions."""
    for i, rule in enumerate(role.props.get("rules") or ()):
        for verb in sorted(ESCALATING & set(pick(rule, "verbs") or ())):
            yield f"remove {verb} from rules[{i}].verbs"
