"""Cases of the rules of encryption, images, maintenance, grants and projects in Google Cloud."""

from typing import Any

from policies.rules import cluster as rules
from policies.rules import control_plane, costs, environments, iam, maintenance
from tests.unit.policies.builders import (
    UNKNOWN,
    Case,
    account,
    auto_provisioning,
    cluster,
    fails,
    passes,
    pool,
    resource,
)

USE_KEY = (
    'ray: set databaseEncryption.keyName to a key of Cloud KMS, and databaseEncryption.state to "ENCRYPTED"'
)
TO_MEMBERS = "to members of your organization: one is"
BUCKET = "gcp:storage/bucket:Bucket"
OWNER = "owner@acme.iam.gserviceaccount.com"
PROD = {"environment": "prod", "costCenters": ["ml", "search"]}
DEV = {"environment": "dev", "projects": ["acme-dev"]}


def grant(role: str, *members: str, kind: str = "projects/iAMMember:IAMMember") -> Any:
    """Returns a grant; its name is that of its role."""
    properties = {"member": members[0]} if len(members) == 1 else {"members": list(members)}
    return resource(f"gcp:{kind}", role.rpartition("/")[2], {"role": role, **properties})


def excluded(*periods: tuple[str, str | None], scope: str = "NO_UPGRADES") -> Any:
    """Returns a cluster with exclusions from day to day."""
    day = "T00:00:00Z"
    exclusions = [
        {
            "startTime": start + day,
            **({"endTime": end + day} if end else {}),
            "exclusionOptions": {"scope": scope},
        }
        for start, end in periods
    ]
    return cluster(maintenancePolicy={"maintenanceExclusions": exclusions})


CASES: tuple[Case, ...] = (
    passes(
        rules.secrets_encryption,
        "a key",
        cluster(),
        cluster(databaseEncryption={"state": "ALL_OBJECTS_ENCRYPTION_ENABLED", "keyName": "k"}),
    ),
    fails(
        rules.secrets_encryption,
        "no key, or one that is not used",
        [
            cluster(databaseEncryption=None),
            cluster(databaseEncryption={"state": "DECRYPTED", "keyName": "k"}),
            cluster(databaseEncryption={"state": "ENCRYPTED"}),
        ],
        *(USE_KEY,) * 3,
    ),
    passes(rules.binary_authorization, "the project's policy", cluster()),
    fails(
        rules.binary_authorization,
        "off",
        cluster(binaryAuthorization={"evaluationMode": "DISABLED"}),
        'ray: set binaryAuthorization.evaluationMode to "PROJECT_SINGLETON_POLICY_ENFORCE" or '
        '"POLICY_BINDINGS" or "POLICY_BINDINGS_AND_PROJECT_SINGLETON_POLICY_ENFORCE": it is "DISABLED"',
    ),
    passes(rules.security_posture, "on", cluster(), cluster(securityPostureConfig={"mode": "ENTERPRISE"})),
    fails(
        rules.security_posture,
        "off",
        cluster(securityPostureConfig=None),
        'ray: set securityPostureConfig.mode to "BASIC" or "ENTERPRISE": it is absent',
    ),
    passes(rules.no_default_network, "its own", cluster(), cluster(network="projects/a/global/networks/ray")),
    fails(
        rules.no_default_network,
        "by default, by name, by path",
        [
            cluster(network=None),
            cluster(network="default"),
            cluster(network="projects/a/global/networks/default"),
        ],
        *("ray: set network to one of your own: it is the default network",) * 3,
    ),
    passes(
        rules.workload_logs,
        "GKE's default, and more",
        cluster(),
        cluster(loggingConfig={"enableComponents": ["SYSTEM_COMPONENTS", "WORKLOADS", "APISERVER"]}),
    ),
    fails(
        rules.workload_logs,
        "system components only",
        cluster(loggingConfig={"enableComponents": ["SYSTEM_COMPONENTS"]}),
        "ray: add WORKLOADS to loggingConfig.enableComponents",
    ),
    passes(control_plane.google_groups, "a group of groups", cluster()),
    fails(
        control_plane.google_groups,
        "none",
        cluster(authenticatorGroupsConfig=None),
        "ray: set authenticatorGroupsConfig.securityGroup: it is absent",
    ),
    passes(
        maintenance.upgrades_are_not_withheld,
        "90 days, breaks, and minor upgrades only",
        cluster(),
        excluded(("2026-01-01", "2026-04-01")),
        excluded(("2026-01-01", "2026-03-01"), ("2026-03-03", "2026-05-01")),
        excluded(("2026-01-01", "2026-12-31"), scope="NO_MINOR_UPGRADES"),
    ),
    fails(
        maintenance.upgrades_are_not_withheld,
        "no end, too long, in a row",
        [
            excluded(("2026-01-01", None), scope="NO_MINOR_UPGRADES"),
            excluded(("2026-01-01", "2026-04-02"), scope="NO_MINOR_OR_NODE_UPGRADES"),
            excluded(("2026-03-02", "2026-05-01"), ("2026-01-01", "2026-03-01")),
        ],
        "ray: set maintenancePolicy.maintenanceExclusions[0].endTime: it is absent",
        "ray: shorten maintenancePolicy.maintenanceExclusions to 90 days without fixes of nodes: those from "
        "2026-01-01 to 2026-04-02 follow each other",
        "ray: shorten maintenancePolicy.maintenanceExclusions to 90 days without fixes of nodes: those from "
        "2026-01-01 to 2026-05-01 follow each other",
    ),
    passes(
        iam.no_public_members,
        "of the organization, or created by the stack",
        grant("roles/iap.httpsResourceAccessor", "domain:acme.example", "group:gmail.com@acme.example"),
        grant("roles/storage.objectUser", UNKNOWN),
    ),
    fails(
        iam.no_public_members,
        "everyone",
        [
            grant("roles/storage.objectViewer", "allUsers"),
            grant("roles/logging.viewer", "group:a@acme.example", "allAuthenticatedUsers"),
            grant(
                "roles/iap.user",
                "domain:Gmail.com",
                kind="iap/webBackendServiceIamMember:WebBackendServiceIamMember",
            ),
            grant("roles/run.invoker", "user:jo@googlemail.com"),
        ],
        f"storage.objectViewer: grant roles/storage.objectViewer {TO_MEMBERS} allUsers",
        f"logging.viewer: grant roles/logging.viewer {TO_MEMBERS} allAuthenticatedUsers",
        f"iap.user: grant roles/iap.user {TO_MEMBERS} domain:Gmail.com",
        f"run.invoker: grant roles/run.invoker {TO_MEMBERS} user:jo@googlemail.com",
    ),
    passes(iam.no_basic_roles, "of a service", grant("roles/container.viewer", UNKNOWN)),
    fails(
        iam.no_basic_roles,
        "basic",
        [grant("roles/owner", UNKNOWN), grant("roles/editor", UNKNOWN)],
        "owner: replace roles/owner by roles of single services",
        "editor: replace roles/editor by roles of single services",
    ),
    passes(
        iam.node_account_is_of_the_stack,
        "created by the stack, in a project of a domain, listed, or GKE's default",
        account(),
        pool(),
        auto_provisioning(serviceAccount="nodes@acme.iam.gserviceaccount.com"),
        account("gpus", "example.com:acme"),
        pool("gpus", {"serviceAccount": "gpus@acme.example.com.iam.gserviceaccount.com"}),
        pool("listed", {"serviceAccount": OWNER}),
        pool("default", {"serviceAccount": None}),
        config={"accounts": [OWNER]},
    ),
    fails(
        iam.node_account_is_of_the_stack,
        "another one",
        [account(), pool("mine"), pool("theirs", {"serviceAccount": OWNER})],
        "theirs: remove nodeConfig.serviceAccount, or add it to `accounts` in the environment's "
        f"configuration: the roles of {OWNER} are not in the plan",
    ),
    passes(
        costs.cost_labels,
        "values of the environment",
        cluster(resourceLabels={"environment": "prod", "cost-center": "search"}),
        config=PROD,
    ),
    fails(
        costs.cost_labels,
        "values of another environment, and of no cost center",
        cluster(resourceLabels={"environment": "dev", "cost-center": "none"}),
        "ray: set resourceLabels.environment to prod: it is dev",
        "ray: set resourceLabels.cost-center to ml or search: it is none",
        config=PROD,
    ),
    passes(
        environments.project_of_environment,
        "listed, or unlisted where no list is",
        resource(BUCKET, "logs", {"project": "acme-dev"}),
        resource(BUCKET, "no project", {}),
        config=DEV,
    ),
    passes(
        environments.project_of_environment,
        "any project, as prod lists none",
        resource(BUCKET, "logs", {"project": "acme-prod"}),
        config={"environment": "prod"},
    ),
    fails(
        environments.project_of_environment,
        "a project of another environment",
        resource(BUCKET, "logs", {"project": "acme-prod"}),
        "logs: declare the environment of project acme-prod (muster:environment), which is not dev, or add "
        "it to policies/config/dev.json",
        config=DEV,
    ),
)
