"""Rules of the access to tenants' RayServices (IAM, quotas and limits: conditional role bindings)."""

from collections import defaultdict
from collections.abc import Iterator

from settings.facts.tables import table
from settings.model.stack import Settings
from settings.problems import Finding, Path
from settings.rules.registry import rule
from settings.rules.tenants import tenants_of


@rule("tenants")
def hosts_fit_into_a_condition(settings: Settings) -> Iterator[Finding]:
    """Access to the hosts of a tenant is a role with the condition that a request is for one of them, which
    may have 12 logical operators (IAM, quotas and limits)."""
    most = table("limits").facts["operators_per_iam_condition"] + 1
    for path, tenant in tenants_of(settings):
        if tenant.serving and len(tenant.serving.hosts) > most:
            yield Finding(
                (*path, "serving", "hosts"),
                f"at most {most} hosts: IAM refuses the condition of more (IAM, quotas and limits)",
                "use fewer hosts, or serve the others from another tenant",
            )


@rule("tenants")
def members_have_few_conditions(settings: Settings) -> Iterator[Finding]:
    """A member has at most 20 bindings of a role with different conditions in a project, one for each tenant
    that it may call (IAM, quotas and limits)."""
    most = table("limits").facts["conditions_per_role_and_principal"]
    granted: dict[str, list[Path]] = defaultdict(list)
    for path, tenant in tenants_of(settings):
        for i, member in enumerate(tenant.serving.iap.members if tenant.serving else ()):
            granted[member].append((*path, "serving", "iap", "members", i))
    for paths in granted.values():
        for path in paths[most:]:
            yield Finding(
                path,
                f"a member of at most {most} tenants: IAM refuses further conditions of the same role (IAM, "
                "quotas and limits)",
                "write a group that contains it",
            )
