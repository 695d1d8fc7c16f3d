"""Rules of tenants' secrets, which GKE's Secret Manager add-on mounts."""

from collections.abc import Iterator

from settings.model.foundation.cluster import Gke
from settings.model.foundation.existing import Existing
from settings.model.stack import Settings
from settings.model.versions import GkeVersion
from settings.problems import Doubt, Finding
from settings.rules.names import unique
from settings.rules.registry import doubt, rule
from settings.rules.tenants import tenants_of

ROTATION = GkeVersion(1, 32, 2, 1059000)


@rule("cluster", "tenants")
def secrets_can_be_mounted(settings: Settings) -> Iterator[Finding]:
    """Tenants' secrets require the cluster's Secret Manager add-on (GKE, "Use Secret Manager add-on")."""
    cluster = settings.cluster
    if not isinstance(cluster, Gke) or cluster.secret_manager is not None:
        return
    for path, tenant in tenants_of(settings):
        if tenant.secrets:
            yield Finding(
                (*path, "secrets"),
                "no value: the cluster's secretManager is unset, so nothing mounts secrets",
                "write muster:cluster.secretManager: {}, or remove `secrets`",
            )


@rule("cluster")
def secrets_are_rotated_by_new_versions(settings: Settings) -> Iterator[Finding]:
    """The add-on updates mounted files from 1.32.2-gke.1059000 on (GKE, "Use Secret Manager add-on")."""
    cluster = settings.cluster
    if not isinstance(cluster, Gke) or not cluster.secret_manager:
        return
    if cluster.secret_manager.rotation_seconds and GkeVersion.parse(cluster.version) < ROTATION:
        yield Finding(
            ("muster:cluster", "secretManager", "rotationSeconds"),
            f"no value: the add-on updates mounted files from {ROTATION} on",
            "raise muster:cluster.version, or remove `rotationSeconds`",
        )


@rule("tenants")
def secrets_are_read_by_an_identity(settings: Settings) -> Iterator[Finding]:
    """A tenant's secrets require an identity, which reads them, and each has its own file (GKE, "Use Secret
    Manager add-on": SecretProviderClass)."""
    for path, tenant in tenants_of(settings):
        if tenant.secrets and not tenant.identity:
            yield Finding(
                (*path, "identity"),
                "an identity, with which pods read `secrets`",
                "add `identity: {}`",
            )
        files = (((*path, "secrets", i), secret.file_name) for i, secret in enumerate(tenant.secrets))
        yield from unique(files, "file of a secret")


@doubt("cluster", "tenants")
def add_on_may_be_missing(settings: Settings) -> Iterator[Doubt]:
    """A stack does not enable add-ons of a cluster that it did not create, and without the Secret Manager
    add-on the SecretProviderClass of a tenant's secrets cannot be created (GKE, "Use Secret Manager
    add-on")."""
    cluster = settings.cluster
    if not isinstance(cluster, Existing) or cluster.gke is None:
        return
    for path, tenant in tenants_of(settings):
        if tenant.secrets:
            yield Doubt(
                (*path, "secrets"),
                "the stack did not create this cluster and does not enable its Secret Manager add-on; if it "
                f"is off, run `gcloud container clusters update {cluster.name} --location="
                f"{cluster.gke.location} --enable-secret-manager`",
                "GKE, Use Secret Manager add-on",
            )
