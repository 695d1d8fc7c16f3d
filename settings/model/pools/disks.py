"""Disks of a pool's nodes: boot disks, and disk images that contain container images."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from typing_extensions import Doc

from settings.model.base import Model, refuse

DISK_IMAGE = re.compile(r"(projects/[a-z0-9:.-]+/)?global/images/[a-z]([-a-z0-9]{0,61}[a-z0-9])?")


class BootDisk(Model):
    """Boot disk of a node, which also holds containers' ephemeral storage if there are no local SSDs."""

    type: Literal["pd-standard", "pd-balanced", "pd-ssd", "hyperdisk-balanced"] | None = None
    """Disk type; GKE's default for the machine type if unset. The newest families support Hyperdisks only."""
    size_gb: Annotated[int, Field(ge=10)] | None = None
    """Size in GB; GKE's default if unset."""


def _disk_image(image: str) -> str:
    if not DISK_IMAGE.fullmatch(image):
        refuse(
            "a disk image that contains container images (GKE, secondary boot disks)",
            "write projects/<project>/global/images/<name>",
        )
    return image


DiskImage = Annotated[str, AfterValidator(_disk_image), Doc("disk image")]
