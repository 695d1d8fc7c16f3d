"""Parts of a pool's settings: sizes, disks, upgrades, DaemonSets, and ComputeClasses."""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import Doc

from settings.model.base import Model, Quantity, amount, matching, refuse
from settings.model.google_cloud import PROJECT, RESOURCE
from settings.model.pools.machine_facts import BootDiskType
from settings.model.pools.values import MachineType, Provisioning, Reservation
from settings.model.regions import Zone


class Nodes(Model):
    """Size limits of a pool, over all its zones."""

    min: Annotated[int, Field(ge=0)] = 0
    """Minimum that the autoscaler keeps; must be 0 for queued and flex-start pools."""
    max: Annotated[int, Field(ge=1)]
    """Maximum for the autoscaler, and the capacity behind the quotas of the pool's flavor."""
    initial: Annotated[int, Field(ge=0)] | None = None
    """Initial number of nodes per zone; the autoscaler takes over afterwards."""


DISK_IMAGE = re.compile(rf"(projects/{PROJECT}/)?global/images/{RESOURCE}")


class BootDisk(Model):
    """Boot disk of a node, which also holds containers' ephemeral storage if there are no local SSDs."""

    type: BootDiskType | None = None
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


class Upgrade(Model):
    """GKE's upgrades of nodes: a few at a time (surge), or by a second set of nodes (blue-green)."""

    strategy: Literal["surge", "blue-green"] = "surge"
    """`blue-green` needs capacity for a second set of nodes; compact pools do not support it."""
    max_surge: Annotated[int, Field(ge=0)] = 1
    """Nodes added at a time before others are removed."""
    max_unavailable: Annotated[int, Field(ge=0)] = 0
    """Nodes that may be unavailable at a time."""
    soak_seconds: Annotated[int, Field(ge=0, le=7 * 24 * 3600)] = 3600
    """Seconds for which `blue-green` keeps the drained old nodes for a rollback."""

    @model_validator(mode="after")
    def _some_node_moves(self) -> Self:
        if self.strategy == "surge" and not self.max_surge + self.max_unavailable:
            refuse(
                "maxSurge or maxUnavailable of 1 or more (GKE API: UpgradeSettings)",
                "raise one of them",
            )
        return self


class DaemonSets(Model):
    """Requests of the DaemonSets' pods on one node. The defaults are an estimate of GKE's own (network, logs,
    metrics, drivers); `kubectl describe node` shows the real ones."""

    cpu: Quantity = "400m"
    """CPU of all of them, in cores."""
    memory: Quantity = "700Mi"
    """Memory of all of them."""
    pods: Quantity = "12"
    """Number of pods."""

    @property
    def requests(self) -> Mapping[str, Fraction]:
        """The requests of all DaemonSets' pods on a node, by resource."""
        return {resource: amount(quantity) for resource, quantity in self.model_dump().items()}


class NodePriority(Model):
    """One way to get nodes; GKE tries the next one if it cannot get them this way."""

    provisioning: Provisioning = "on-demand"
    """Source of the nodes; `queued` is refused, as it needs a node pool."""
    reservation: Reservation | None = None
    """The reservation that `provisioning: reserved` uses."""
    machine_type: MachineType | None = None
    """Another machine type, with the pool's accelerators and at least its size; the pool's own if unset."""
    zones: tuple[Zone, ...] = ()
    """Zones of the nodes (none: the cluster's, or the reservation's)."""
    max_run_seconds: Annotated[int, Field(ge=1)] | None = None
    """Time after which GKE stops a node, even if it is in use."""


class ComputeClass(Model):
    """GKE's ComputeClass, whose nodes GKE creates when pods of the flavor need them; it has the pool's name.

    Its nodes are never of another kind: if no priority can be met, pods wait.
    """

    priorities: Annotated[tuple[NodePriority, ...], Field(min_length=1)]
    """Ways to get nodes, the preferred one first."""
