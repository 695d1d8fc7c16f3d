"""Rules of nodes' disks."""

from collections.abc import Iterator

from settings.facts.tables import table
from settings.model.pools.allocatable import BOOT_DISK_GB, GIB, allocatable
from settings.model.pools.pool import Pool
from settings.model.stack import Settings
from settings.problems import Finding, Path
from settings.rules.registry import rule

LARGEST_GB: int = table("limits").facts["boot_disk_gb"]
# Compressed images of Ray take up to 10 GiB of the disk when they are unpacked, without models or data.
IMAGES_GIB = 10


@rule("pools")
def boot_disks_suit_machines(settings: Settings) -> Iterator[Finding]:
    """A boot disk has a type that the machine series supports, and a size that the type has (Compute Engine,
    Persistent Disk and Hyperdisk)."""
    for i, pool in enumerate(settings.pools):
        disk, path = pool.boot_disk, ("muster:pools", i, "bootDisk")
        fitting = pool.machine.boot_disks
        if disk.type and fitting and disk.type not in fitting:
            yield Finding(
                (*path, "type"),
                f"{' or '.join(fitting)}: the boot disks that {pool.machine_type} supports (Compute "
                "Engine, disk types)",
                f"write {fitting[0]}, or remove `type`",
            )
        if (disk.size_gb or 0) > LARGEST_GB:
            yield Finding(
                (*path, "sizeGb"),
                f"at most {LARGEST_GB}, which are 64 TB (Compute Engine, disk limits)",
                "lower it",
            )


@rule("pools")
def boot_disks_hold_images(settings: Settings) -> Iterator[Finding]:
    """A boot disk leaves pods room for an image of Ray after what GKE reserves: otherwise the kubelet evicts
    them as soon as they are pulled (GKE, plan node sizes: ephemeral storage)."""
    for i, pool in enumerate(settings.pools):
        storage = allocatable(pool)["ephemeral-storage"]
        if pool.boot_disk.size_gb and storage < IMAGES_GIB * GIB:
            yield Finding(
                ("muster:pools", i, "bootDisk", "sizeGb"),
                f"a disk of which GKE leaves pods {IMAGES_GIB} GiB, for an image of Ray; it leaves "
                f"{max(0, float(storage / GIB)):.1f} of this one (GKE, plan node sizes)",
                f"write {_smallest_disk(pool)} or more, or remove it for GKE's default of {BOOT_DISK_GB}",
            )


def _smallest_disk(pool: Pool) -> int:
    """Returns the size of the smallest boot disk that leaves room for images, in GB."""
    sizes = (size for size in range(10, BOOT_DISK_GB, 10))
    disks = (pool.boot_disk.model_copy(update={"size_gb": size}) for size in sizes)
    pools = (pool.model_copy(update={"boot_disk": disk}) for disk in disks)
    return next(
        larger.boot_disk.size_gb or 0
        for larger in pools
        if allocatable(larger)["ephemeral-storage"] >= IMAGES_GIB * GIB
    )


@rule("pools")
def local_ssds_suit_machines(settings: Settings) -> Iterator[Finding]:
    """Machine types have a fixed number of local SSDs or a choice of counts (Compute Engine, "About Local
    SSD disks")."""
    for i, pool in enumerate(settings.pools):
        machine = pool.machine
        counts = (machine.local_ssds,) if machine.local_ssds else machine.attachable_ssds
        if pool.local_ssds and pool.local_ssds not in counts:
            fitting = " or ".join(map(str, counts)) or "none"
            yield Finding(
                ("muster:pools", i, "localSsds"),
                f"{fitting}: what {pool.machine_type} supports (Compute Engine, Local SSD)",
                "remove it" if machine.local_ssds or not counts else "choose one of these counts",
            )


@rule("pools")
def preloaded_images_are_streamed(settings: Settings) -> Iterator[Finding]:
    """Secondary boot disks require image streaming (GKE, secondary boot disks)."""
    for i, pool in enumerate(settings.pools):
        path: Path = ("muster:pools", i, "imageStreaming")
        if pool.secondary_boot_disks and pool.image_streaming is False:
            yield Finding(
                path,
                "true: secondary boot disks require image streaming (GKE, secondary boot disks)",
                "remove `imageStreaming`, or `secondaryBootDisks`",
            )
