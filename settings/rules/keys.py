"""Rules of keys of Cloud KMS that encrypt Secrets, boot disks and backups."""

from collections.abc import Iterator

from settings.model.foundation.cluster import Gke
from settings.model.google_cloud import KMS_KEY
from settings.model.regions import ZONES
from settings.model.stack import Settings
from settings.problems import Finding, Path
from settings.rules.registry import rule


@rule("cluster")
def secrets_key_is_near(settings: Settings) -> Iterator[Finding]:
    """The key that encrypts Secrets is in the cluster's region (GKE, "Encrypt secrets at the application
    layer")."""
    if isinstance(settings.cluster, Gke):
        key, region = settings.cluster.secrets_encryption, settings.cluster.region
        if key and _location(key) != region:
            where = "the cluster is (GKE, application-layer secrets encryption)"
            yield _elsewhere(("muster:cluster", "secretsEncryption"), region, where)


@rule("cluster")
def backups_key_is_near(settings: Settings) -> Iterator[Finding]:
    """The key that encrypts backups is in the region of the backup plan, which is the cluster's (Backup for
    GKE, "CMEK encryption")."""
    if isinstance(settings.cluster, Gke) and settings.cluster.backup:
        key, region = settings.cluster.backup.kms_key, settings.cluster.region
        if key and _location(key) != region:
            where = "the backup plan is (Backup for GKE, CMEK encryption)"
            yield _elsewhere(("muster:cluster", "backup", "kmsKey"), region, where)


@rule("cluster", "pools")
def disk_keys_are_near(settings: Settings) -> Iterator[Finding]:
    """A key that encrypts boot disks is not in a region other than the cluster's (GKE, "Use customer-managed
    encryption keys"; Compute Engine, disk encryption)."""
    if settings.place is None:
        return
    cluster = settings.cluster.boot_disk_kms_key if isinstance(settings.cluster, Gke) else None
    keys: dict[Path, str | None] = {("muster:cluster", "bootDiskKmsKey"): cluster}
    for i, pool in enumerate(settings.pools):
        keys["muster:pools", i, "bootDisk", "kmsKey"] = pool.boot_disk.kms_key
    region = settings.place.region
    for path, key in keys.items():
        if key and (location := _location(key)) in ZONES and location != region:
            yield _elsewhere(path, region, "the disks are (GKE, customer-managed encryption keys)")


def _elsewhere(path: Path, region: str, where: str) -> Finding:
    return Finding(
        path, f"a key in {region}, where {where}", "choose or create a key there: keys cannot be moved"
    )


def _location(key: str) -> str:
    name = KMS_KEY.fullmatch(key)
    assert name, "the model accepts no other names"
    return name["location"]
