"""Disks of a pool's nodes: what they boot from, and images of containers that come with them."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from typing_extensions import Doc

from settings.model.base import Model, refuse

DISK_IMAGE = re.compile(r"(projects/[a-z0-9:.-]+/)?global/images/[a-z]([-a-z0-9]{0,61}[a-z0-9])?")


class BootDisk(Model):
    """What a node boots from, and keeps its containers on where it has no local SSDs."""

    type: Literal["pd-standard", "pd-balanced", "pd-ssd", "hyperdisk-balanced"] | None = None
    """GKE's choice for the machine type unless given; the newest families take Hyperdisks only."""
    size_gb: Annotated[int, Field(ge=10)] | None = None
    """In GB; GKE's default unless given."""


def _disk_image(image: str) -> str:
    if not DISK_IMAGE.fullmatch(image):
        refuse(
            "a disk image with container images in it (GKE, secondary boot disks)",
            "write projects/<project>/global/images/<name>",
        )
    return image


DiskImage = Annotated[str, AfterValidator(_disk_image), Doc("disk image")]
