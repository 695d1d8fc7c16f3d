"""Writes the table in docs/gitops.md: IAM roles of the identity that deploys a stack."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tools.docs.sections import GeneratedSection
from tools.toolchain.paths import CHECKOUT

PAGE = CHECKOUT / "docs" / "gitops.md"
PLANS = CHECKOUT / "tests" / "stacks" / "golden"
SECTION = GeneratedSection("<!-- roles: written by make docs -->", "<!-- end of roles -->")
HEAD = "| role | for | API |\n|---|---|---|"
# Plans show a Google Cloud type as module.Type; Kubernetes kinds have no dot.
DECLARED = re.compile(r"(?m)^\S +([a-z]+\.[A-Z][A-Za-z]+) ")


class RequiredRole(NamedTuple):
    """The predefined role with the fewest permissions to manage resources of a type, and their API."""

    role: str
    api: str


def _of(types: str, role: str, api: str) -> dict[str, RequiredRole]:
    return dict.fromkeys(types.split(), RequiredRole(f"roles/{role}", f"{api}.googleapis.com"))


# Source: IAM documentation, "IAM roles and permissions index". Keys are type names as in a plan.
NEEDS: Mapping[str, RequiredRole] = {
    **_of("artifactregistry.Repository", "artifactregistry.admin", "artifactregistry"),
    **_of("binaryauthorization.Attestor", "binaryauthorization.attestorsAdmin", "binaryauthorization"),
    **_of("binaryauthorization.Policy", "binaryauthorization.policyEditor", "binaryauthorization"),
    # The editor role cannot delete.
    **_of(
        "certificatemanager.Certificate certificatemanager.CertificateMap "
        "certificatemanager.CertificateMapEntry",
        "certificatemanager.owner",
        "certificatemanager",
    ),
    **_of(
        "compute.GlobalAddress compute.Network compute.Router compute.RouterNat compute.Subnetwork",
        "compute.networkAdmin",
        "compute",
    ),
    **_of("compute.Firewall", "compute.securityAdmin", "compute"),
    **_of("compute.SubnetworkIAMMember", "compute.xpnAdmin", "compute"),
    **_of("compute.ResourcePolicy", "compute.instanceAdmin.v1", "compute"),
    **_of("containeranalysis.Note", "containeranalysis.notes.editor", "containeranalysis"),
    # Also covers objects in the cluster, including RBAC roles and admission policies.
    **_of("container.Cluster container.NodePool", "container.admin", "container"),
    **_of("gkebackup.BackupPlan", "gkebackup.backupAdmin", "gkebackup"),
    **_of("iap.WebIamMember", "iap.admin", "iap"),
    **_of("kms.CryptoKeyIAMMember", "cloudkms.admin", "cloudkms"),
    **_of("logging.ProjectBucketConfig logging.ProjectSink", "logging.configWriter", "logging"),
    **_of("monitoring.AlertPolicy", "monitoring.alertPolicyEditor", "monitoring"),
    **_of("monitoring.Dashboard", "monitoring.dashboardEditor", "monitoring"),
    **_of("monitoring.NotificationChannel", "monitoring.notificationChannelEditor", "monitoring"),
    **_of("projects.IAMMember", "resourcemanager.projectIamAdmin", "cloudresourcemanager"),
    **_of("projects.Service projects.ServiceIdentity", "serviceusage.serviceUsageAdmin", "serviceusage"),
    **_of(
        "secretmanager.RegionalSecretIamMember secretmanager.SecretIamMember",
        "secretmanager.admin",
        "secretmanager",
    ),
    **_of("serviceaccount.Account serviceaccount.IAMMember", "iam.serviceAccountAdmin", "iam"),
    **_of("storage.Bucket storage.BucketIAMMember", "storage.admin", "storage"),
}
# Source: GKE documentation, "Use least privilege service accounts": the creator of nodes needs permission to
# act as their service account.
ACT_AS_NODES = RequiredRole("roles/iam.serviceAccountUser", "iam.googleapis.com")


def write_roles() -> None:
    """Rewrites the table of roles in docs/gitops.md."""
    PAGE.write_text(page_with_roles(PAGE.read_text()))


def page_with_roles(page: str) -> str:
    """Returns the page with the roles for every type in the golden plans of the shipped stacks."""
    plans = "\n".join(file.read_text() for file in sorted(PLANS.glob("*.txt")))
    return SECTION.put(page, table(DECLARED.findall(plans)))


def table(types: Iterable[str]) -> str:
    """Returns a row for each role that these types need. Raises KeyError for a type without a role."""
    uses = defaultdict(set)
    for name in types:
        uses[NEEDS[name]].add(name)
        if name == "container.NodePool":
            uses[ACT_AS_NODES].add("nodes as their service account")
    rows = (
        f"| `{need.role}` | {', '.join(sorted(of))} | `{need.api}` |" for need, of in sorted(uses.items())
    )
    return "\n".join([HEAD, *rows])
