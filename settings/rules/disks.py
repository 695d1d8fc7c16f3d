"""Rules of the disks that nodes have."""

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
                f"hyperdisk-balanced: {pool.machine_type} takes no Persistent Disk (Compute Engine)",
                "write that, or leave `type` to GKE",
            )


def local_ssds_suit_machines(settings: Settings) -> Iterator[Finding]:
    """Some machine types bring a fixed number, others take some (Compute Engine, "About Local SSD disks")."""
    for i, pool in enumerate(settings.pools):
        machine = pool.machine
        counts = (machine.local_ssds,) if machine.local_ssds else machine.attachable_ssds
        if pool.local_ssds and pool.local_ssds not in counts:
            fitting = " or ".join(map(str, counts)) or "none"
            yield Finding(
                ("muster:pools", i, "localSsds"),
                f"{fitting}, as {pool.machine_type} has it (Compute Engine, Local SSD)",
                "remove it" if machine.local_ssds or not counts else "choose one of these counts",
            )


def preloaded_images_are_streamed(settings: Settings) -> Iterator[Finding]:
    for i, pool in enumerate(settings.pools):
        path: Path = ("muster:pools", i, "imageStreaming")
        if pool.secondary_boot_disks and pool.image_streaming is False:
            yield Finding(
                path,
                "true: it reads the images on secondary boot disks (GKE, secondary boot disks)",
                "remove `imageStreaming`, or `secondaryBootDisks`",
            )
