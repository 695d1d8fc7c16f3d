"""Parts of a pool's settings: sizes, disks, upgrades, DaemonSets, and ComputeClasses."""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic.alias_generators import to_camel
from typing_extensions import Doc

from settings.model.base import Model, Quantity, amount, matching, refuse
from settings.model.google_cloud import PROJECT, RESOURCE, KmsKey
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
    kms_key: KmsKey | None = None
    """The KMS key that encrypts the disk (GKE API: NodeConfig.bootDiskKmsKey); the cluster's
    `bootDiskKmsKey` if unset. Changing it recreates the node pool."""


DiskImage = Annotated[
    str,
    matching(
        DISK_IMAGE,
        "a disk image that contains container images (GKE, secondary boot disks)",
        "write projects/<project>/global/images/<name>",
    ),
    Doc("disk image"),
]


NODES_AT_A_TIME = 20


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
    def _some_nodes_move(self) -> Self:
        if self.strategy == "surge" and not self.max_surge + self.max_unavailable:
            refuse(
                "maxSurge or maxUnavailable of 1 or more (GKE API: UpgradeSettings)",
                "raise one of them",
            )
        if self.max_surge + self.max_unavailable > NODES_AT_A_TIME:
            refuse(
                f"maxSurge and maxUnavailable of at most {NODES_AT_A_TIME} together, the most nodes that GKE "
                "upgrades at a time (GKE, node upgrade strategies)",
                "lower one of them",
            )
        return self

    @model_validator(mode="after")
    def _keys_suit_the_strategy(self) -> Self:
        unused = {"surge": {"soak_seconds"}, "blue-green": {"max_surge", "max_unavailable"}}[self.strategy]
        for name in sorted(unused & self.model_fields_set):
            key = to_camel(name)
            refuse(
                f"no `{key}`: strategy {self.strategy} does not use it (GKE API: UpgradeSettings)",
                f"remove `{key}`, or choose the other strategy",
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


PlacementPolicy = Annotated[
    str,
    matching(
        re.compile(RESOURCE),
        "the name of a resource policy in the cluster's region (compute-class-api: Placement)",
        "write the bare name, such as my-policy",
    ),
    Doc("resource policy"),
]


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
    any_reservation: Literal["best-effort", "required"] | None = None
    """For on-demand nodes: takes them from any reservation that need not be named, and if none has capacity,
    outside of reservations (`best-effort`) or not at all (`required`)."""
    capacity_check_wait_seconds: Annotated[int, Field(ge=1, le=86400)] | None = None
    """For flex-start and TPUs: time for which GKE tries this way before the next one."""
    recycle_lead_seconds: Annotated[int, Field(ge=1, le=604800)] | None = None
    """For flex-start: time before the end of a node at which GKE looks for its replacement."""
    placement_policy: PlacementPolicy | None = None
    """A resource policy of yours in the cluster's project and region, by which the nodes are placed."""


class Consolidation(Model):
    """When GKE removes nodes of a ComputeClass that are hardly used; the cluster's settings if unset."""

    delay_minutes: Annotated[int, Field(ge=1, le=1440)] | None = None
    """Time for which a node is not needed before it is removed."""
    threshold_percent: Annotated[int, Field(ge=0, le=100)] | None = None
    """Utilization of CPU and memory below which a node may be removed."""
    gpu_threshold_percent: Annotated[int, Field(ge=0, le=100)] | None = None
    """Utilization of GPUs below which a node with GPUs may be removed."""

    @model_validator(mode="after")
    def _something_is_set(self) -> Self:
        if not self.model_fields_set:
            refuse("at least one key", "add `delayMinutes`, or remove `consolidation`")
        return self


class ComputeClass(Model):
    """GKE's ComputeClass, whose nodes GKE creates when pods of the flavor need them; it has the pool's name.

    Its nodes are never of another kind: if no priority can be met, pods wait. The pool's `nodes.min` is the
    number of nodes that GKE creates in advance. Limits are those of compute-class-api, v1.
    """

    priorities: Annotated[tuple[NodePriority, ...], Field(min_length=1, max_length=1000)]
    """Ways to get nodes, the preferred one first."""
    consolidation: Consolidation | None = None
    """When GKE removes nodes that are hardly used."""
