"""Members and roles that a stack grants in Google Cloud."""

import re
from collections.abc import Iterator, Sequence

from pulumi_policy.proxy import UnknownValueError

from policies.reading import TEXT_LIST, pick
from policies.rule import Config, Resource, Violation, resource_rule, stack_rule
from policies.rules.cluster import CLUSTER
from policies.rules.node_pools import COMPUTE_CLASS, NODE_POOL, node_configs

# Pulumi writes both IAMMember and IamMember.
GRANTS = ("gcp:*I[Aa][Mm]Member", "gcp:*I[Aa][Mm]Binding")
ACCOUNT = "gcp:serviceaccount/account:Account"
BASIC_ROLES = ("roles/owner", "roles/editor", "roles/viewer")
EVERYONE = ("allUsers", "allAuthenticatedUsers")
# Domains in which anyone can open an account (Google Accounts).
CONSUMER = re.compile(r"(user|group|domain):(.*@)?(gmail|googlemail)\.com", re.IGNORECASE)


@resource_rule(
    "muster-no-public-members",
    *GRANTS,
    source="CIS Google Cloud Platform Foundation 3.0, 1.1 and 5.1; Checkov CKV_GCP_28, CKV_GCP_44",
    severity="critical",
)
def no_public_members(grant: Resource) -> Iterator[str]:
    """Roles are granted to accounts of your organization: anyone has, or can open, an account that is in
    allAuthenticatedUsers or domain:gmail.com."""
    for member in _members(grant):
        if member in EVERYONE or CONSUMER.fullmatch(member):
            yield f"grant {grant.props.get('role')} to members of your organization: one is {member}"


@resource_rule(
    "muster-no-basic-roles",
    *GRANTS,
    source="IAM, basic roles; Checkov CKV_GCP_42, CKV_GCP_49",
    severity="high",
)
def no_basic_roles(grant: Resource) -> Iterator[str]:
    """Roles name their purpose: the basic ones contain thousands of permissions in all services."""
    if (role := grant.props.get("role")) in BASIC_ROLES:
        yield f"replace {role} by roles of single services"


@stack_rule(
    "muster-node-account-is-of-the-stack",
    source="CIS GKE 1.9, 5.2.1",
    severity="high",
    parameters={"accounts": TEXT_LIST},
)
def node_account_is_of_the_stack(resources: Sequence[Resource], config: Config) -> Iterator[Violation]:
    """Nodes have a service account that the stack creates, whose roles are in its plan, or one that the
    environment's configuration lists: every pod that escapes to its node has the account's roles."""
    accounts = {_email(r) for r in resources if r.kind == ACCOUNT} | set(config.get("accounts") or ())
    for resource in resources:
        if resource.kind not in (NODE_POOL, COMPUTE_CLASS, CLUSTER):
            continue
        for where in node_configs(resource):
            try:
                account = pick(resource.props, *where.split("."), "serviceAccount")
            except UnknownValueError:  # created by the same stack
                continue
            if account is not None and account not in accounts:
                yield Violation(
                    resource,
                    f"remove {where}.serviceAccount, or add it to `accounts` in the environment's "
                    f"configuration: the roles of {account} are not in the plan",
                )


def _email(account: Resource) -> str:
    # A project in the scope of a domain, example.com:ray, has it at the end: ray.example.com.
    domain, _, project = str(account.props.get("project")).rpartition(":")
    host = ".".join(filter(None, (project, domain)))
    return f"{account.props.get('accountId')}@{host}.iam.gserviceaccount.com"


def _members(grant: Resource) -> Iterator[str]:
    try:
        members = [grant.props.get("member"), *(grant.props.get("members") or ())]
    except UnknownValueError:  # an account that is created by the same stack
        return
    yield from (member for member in members if member)
