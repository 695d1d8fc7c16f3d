"""Rules of nodes' disks."""

from collections.abc import Iterator

from settings.model.stack import Settings
from settings.problems import Finding, Path

# Compute Engine, "Hyperdisk": these machine series boot from Hyperdisks, not from Persistent Disks.
HYPERDISK_ONLY = ("a3-ultragpu-", "a4-", "g4-", "h4d-", "ct6e-", "tpu7x-")


def boot_disks_suit_machines(settings: Settings) -> Iterator[Finding]:
    for i, pool in enumerate(settings.pools):
        kind = pool.boot_disk.type or ""
        if kind.startswith("pd-") and pool.machine_type.startswith(HYPERDISK_ONLY):
            yield Finding(
                ("muster:pools", i, "bootDisk", "type"),
                f"hyperdisk-balanced: {pool.machine_type} does not support Persistent Disk (Compute Engine)",
                "write hyperdisk-balanced, or remove `type`",
            )


def local_ssds_suit_machines(settings: Settings) -> Iterator[Finding]:
    """Machine types have a fixed number or a choice of counts (Compute Engine, "About Local SSD disks")."""
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


def preloaded_images_are_streamed(settings: Settings) -> Iterator[Finding]:
    for i, pool in enumerate(settings.pools):
        path: Path = ("muster:pools", i, "imageStreaming")
        if pool.secondary_boot_disks and pool.image_streaming is False:
            yield Finding(
                path,
                "true: secondary boot disks require image streaming (GKE, secondary boot disks)",
                "remove `imageStreaming`, or `secondaryBootDisks`",
            )
