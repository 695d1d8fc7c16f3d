"""Permissions in the cluster (CIS GKE Benchmark 1.9, section 4.1)."""

from collections.abc import Iterator

from policies.reading import pick
from policies.rule import Resource, resource_rule

RBAC = "kubernetes:rbac.authorization.k8s.io"
EVERYONE = frozenset({"system:anonymous", "system:authenticated", "system:unauthenticated"})


@resource_rule(
    "cis-gke-4.1.3-no-wildcards",
    f"{RBAC}:ClusterRole",
    f"{RBAC}:Role",
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
    f"{RBAC}:ClusterRoleBinding",
    f"{RBAC}:RoleBinding",
    source="CIS GKE 1.9, 4.1.8 to 4.1.10",
    severity="critical",
)
def no_bindings_to_everyone(binding: Resource) -> Iterator[str]:
    """A role is bound to specific subjects: system:authenticated includes every Google account."""
    for i, subject in enumerate(binding.props.get("subjects") or ()):
        if subject["name"] in EVERYONE:
            yield f"bind subjects[{i}] to a group of your own: it is {subject['name']}"
