"""Disks of a pool's nodes: boot disks, and disk images that contain container images."""

import re
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import Doc

from settings.model.base import Model, matching
from settings.model.google_cloud import PROJECT, RESOURCE

DISK_IMAGE = re.compile(rf"(projects/{PROJECT}/)?global/images/{RESOURCE}")


class BootDisk(Model):
    """Boot disk of a node, which also holds containers' ephemeral storage if there are no local SSDs."""

    type: Literal["pd-standard", "pd-balanced", "pd-ssd", "hyperdisk-balanced"] | None = None
    """Disk type; GKE's default for the machine type if unset. The newest families support Hyperdisks only."""
    size_gb: Annotated[int, Field(ge=10)] | None = None
    """Size in GB; GKE's default if unset."""


DiskImage = Annotated[
    str,
    matching(
        DISK_IMAGE,
        "a disk image that contains container images (GKE, secondary boot disks)",
        "write projects/<project>/global/images/<name>",
    ),
    Doc("disk image"),
]
