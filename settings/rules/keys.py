"""Rules of keys of Cloud KMS that encrypt Secrets and boot disks."""

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
    if not isinstance(settings.cluster, Gke) or settings.cluster.secrets_encryption is None:
        return
    region = settings.cluster.region
    if _location(settings.cluster.secrets_encryption) != region:
        yield Finding(
            ("muster:cluster", "secretsEncryption"),
            f"a key in {region}, where the cluster is (GKE, application-layer secrets encryption)",
            "choose or create a key there: keys cannot be moved",
        )


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
            yield Finding(
                path,
                f"a key in {region}, where the disks are (GKE, customer-managed encryption keys)",
                "choose or create a key there: keys cannot be moved",
            )


def _location(key: str) -> str:
    name = KMS_KEY.fullmatch(key)
    assert name, "the model accepts no other names"
    return name["location"]
