"""Rules of nodes' disks."""

from collections.abc import Iterator

from settings.model.stack import Settings
from settings.problems import Finding, Path
from settings.rules.registry import rule

HYPERDISK = ("hyperdisk-balanced",)
PERSISTENT = ("pd-standard", "pd-balanced", "pd-ssd")
NO_STANDARD = ("pd-balanced", "pd-ssd")
# Boot disks by machine series (Compute Engine, "Persistent Disk" and "Hyperdisk": machine series support).
BOOT_DISKS: dict[str, tuple[str, ...]] = {
    "a2-": PERSISTENT,
    "a3-highgpu-": (*NO_STANDARD, *HYPERDISK),
    "a3-megagpu-": (*NO_STANDARD, *HYPERDISK),
    "a3-ultragpu-": HYPERDISK,
    "a4-": HYPERDISK,
    "a4x-": HYPERDISK,
    "ct5lp-": PERSISTENT,
    "ct5p-": PERSISTENT,
    "ct6e-": HYPERDISK,
    "e2-": PERSISTENT,
    "g2-": NO_STANDARD,
    "g4-": HYPERDISK,
    "h4d-": HYPERDISK,
    "n1-": PERSISTENT,
    "n2-": PERSISTENT,
    "tpu7x-": HYPERDISK,
}
LARGEST_GB = 65536


@rule("pools")
def boot_disks_suit_machines(settings: Settings) -> Iterator[Finding]:
    """A boot disk has a type that the machine series supports, and a size that the type has (Compute Engine,
    Persistent Disk and Hyperdisk)."""
    for i, pool in enumerate(settings.pools):
        disk, path = pool.boot_disk, ("muster:pools", i, "bootDisk")
        fitting = boot_disks(pool.machine_type)
        if disk.type and disk.type not in fitting:
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


def boot_disks(machine_type: str) -> tuple[str, ...]:
    """Returns the types of boot disks that a machine type supports."""
    return next(types for series, types in BOOT_DISKS.items() if machine_type.startswith(series))


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
