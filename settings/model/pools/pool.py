"""Node pools: what a pool asks of GKE, and the ResourceFlavor, labels and taints that follow from it."""

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from settings.model.base import DnsSubdomain, Model
from settings.model.pools.disks import BootDisk, DiskImage
from settings.model.pools.gpus import GPU_RESOURCE, Gpu
from settings.model.pools.machines import MACHINES, Machine
from settings.model.pools.tpus import TPU_RESOURCE, Slices, Tpu
from settings.model.pools.upgrades import Upgrade
from settings.model.pools.values import (
    LabelKey,
    LabelValue,
    MachineType,
    PoolName,
    Reservation,
    ServiceAccount,
    Zone,
)

PODS_PER_NODE = 110  # GKE Standard's default

Provisioning = Literal["on-demand", "spot", "reserved", "flex-start", "queued"]

# Ours, on the nodes of slices: their node pools are several, so no label of GKE's names them all.
POOL_LABEL = "muster.dev/pool"


class Taint(NamedTuple):
    key: str
    value: str
    effect: str


# GKE puts these on by itself, on pools with accelerators and on pools of queued provisioning.
GPU_TAINT = Taint("nvidia.com/gpu", "present", "NoSchedule")
TPU_TAINT = Taint("google.com/tpu", "present", "NoSchedule")
QUEUED_TAINT = Taint("cloud.google.com/gke-queued", "true", "NoSchedule")
# GKE labels spot nodes but leaves their taint to the pool.
SPOT_TAINT = Taint("cloud.google.com/gke-spot", "true", "NoSchedule")


class Nodes(Model):
    """How many nodes in all a pool may have."""

    min: Annotated[int, Field(ge=0)] = 0
    """What the autoscaler leaves when nothing runs; 0 for queued and flex-start pools."""
    max: Annotated[int, Field(ge=1)]
    """What it never goes beyond; the quotas of the pool's flavor are given out of these."""
    initial: Annotated[int, Field(ge=0)] | None = None
    """How many to begin with, in each zone, as GKE counts them; the autoscaler has its way afterwards."""


class Pool(Model):
    """One kind of node, and the flavor that quotas know it by."""

    name: PoolName
    """Of the node pool in GKE; TPU slices are numbered from it (`v6e-0`, `v6e-1`, …)."""
    machine_type: MachineType
    """One of the table in `settings/model/pools/machines.py`, from which follows what a node holds."""
    gpu: Gpu | None = None
    """Required where the machine type carries GPUs, and on `n1` machines that are to have some."""
    tpu: Tpu | None = None
    """Required where the machine type carries TPU chips."""
    provisioning: Provisioning = "on-demand"
    """How nodes are got: bought as needed, spot, out of a reservation, for a limited time when there are some
    (`flex-start`), or all nodes of a gang in one step by ProvisioningRequest (`queued`), which brings the
    admission check along."""
    reservation: Reservation | None = None
    """The one that `provisioning: reserved` takes its nodes from."""
    nodes: Nodes | None = None
    """How many there may be; pools of TPU slices of several machines say `slices` in its place."""
    slices: Slices | None = None
    """How many slices there may be, of TPU topologies that take several machines each."""
    zones: tuple[Zone, ...] = ()
    """Where its nodes are, if not everywhere the cluster is."""
    placement: Literal["compact"] | None = None
    """`compact`: close to each other, for the sake of the network between them."""
    upgrade: Upgrade | None = None
    """GKE's own way (surge, one node at a time) unless given; GKE alone decides for queued and flex-start
    pools."""
    max_run_seconds: Annotated[int, Field(ge=1)] | None = None
    """When GKE stops a node, however busy it is."""
    boot_disk: BootDisk = BootDisk()
    """What nodes boot from; GKE's choice unless given."""
    local_ssds: Annotated[int, Field(ge=1)] | None = None
    """How many back the pods' ephemeral storage, where the machine type doesn't say it."""
    secondary_boot_disks: tuple[DiskImage, ...] = ()
    """Disk images that bring container images along, such as Ray's, so that nodes don't pull them."""
    image_streaming: bool | None = None
    """Start containers before their images are there whole."""
    gpudirect: Literal["tcpx", "tcpxo"] | None = None
    """GPUs of several nodes talk past the CPUs, over networks of their own."""
    dranet: bool = False
    """The network cards of accelerators as Kubernetes resources, on networks that GKE sets up."""
    fast_socket: bool = False
    """NCCL Fast Socket, for GPUs that talk over the nodes' own network."""
    max_pods_per_node: Annotated[int, Field(ge=8, le=256)] | None = None
    """110 unless given, as in GKE; each node takes twice as many addresses of the range for pods, rounded up
    to a power of two."""
    service_account: ServiceAccount | None = None
    """Whom nodes act as; an account of the stack's own, which may log and pull images, unless given."""
    secure_boot: bool = True
    """Only signed kernel modules are loaded (CIS GKE 5.5.7); false for drivers of your own."""
    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    """Node labels beside GKE's; the flavor has them too."""
    flavor: DnsSubdomain | None = None
    """The name of its ResourceFlavor, if not the pool's."""

    @property
    def queued(self) -> bool:
        return self.provisioning == "queued"

    @property
    def flex_start(self) -> bool:
        return self.provisioning == "flex-start"

    @property
    def flavor_name(self) -> str:
        return self.flavor or self.name

    @property
    def machine(self) -> Machine:
        return MACHINES[self.machine_type]

    @property
    def slice_nodes(self) -> int:
        """Nodes of one TPU slice; 1 for every other kind of pool."""
        return self.tpu.machines(self.machine) if self.tpu else 1

    @property
    def multi_host(self) -> bool:
        """Whether one TPU slice takes several nodes, which then live and die together."""
        return self.slice_nodes > 1

    @property
    def node_pools(self) -> tuple[str, ...]:
        """The names of its node pools in GKE: itself, or one a slice.

        In GKE a node pool of a multi-host topology is one slice and scales between nothing and all of it
        ("Plan TPUs in GKE"), so `slices: {max: 2}` is two node pools. They are numbered even when there is
        one, as in cluster-toolkit's num_slices but for that: a second slice must not recreate the first.
        """
        if not self.slices:
            return (self.name,)
        return tuple(f"{self.name}-{index}" for index in range(self.slices.max))

    @property
    def nodes_max(self) -> int:
        """The most nodes there may be in all."""
        if self.slices:
            return self.slices.max * self.slice_nodes
        return self.nodes.max if self.nodes else 0

    @property
    def image_streamed(self) -> bool:
        """Nodes with images on secondary boot disks read them the same way (GKE, secondary boot disks)."""
        return self.image_streaming or bool(self.secondary_boot_disks)

    @property
    def local_ssd_count(self) -> int:
        return self.local_ssds or self.machine.local_ssds

    @property
    def declared_labels(self) -> dict[str, str]:
        """The node labels the pool has to ask for, because GKE does not add them by itself."""
        labels = dict(self.labels)
        if self.slices:
            labels[POOL_LABEL] = self.name
        if self.dranet:
            labels["cloud.google.com/gke-networking-dra-driver"] = "true"
        if self.gpu and self.gpu.driver == "disabled":
            # Or GKE's device plugin and the GPU Operator's would both offer the GPUs.
            labels["gke-no-default-nvidia-gpu-device-plugin"] = "true"
        return labels

    @property
    def node_labels(self) -> dict[str, str]:
        """The labels by which a ResourceFlavor finds the pool's nodes."""
        labels = {} if self.slices else {"cloud.google.com/gke-nodepool": self.name}
        if self.gpu:
            labels |= self.gpu.node_labels
        if self.tpu and self.machine.tpu_type:
            labels["cloud.google.com/gke-tpu-accelerator"] = self.machine.tpu_type
            labels["cloud.google.com/gke-tpu-topology"] = self.tpu.topology
        if self.provisioning in ("spot", "flex-start"):
            labels[f"cloud.google.com/gke-{self.provisioning}"] = "true"
        return labels | self.declared_labels

    @property
    def node_taints(self) -> tuple[Taint, ...]:
        """Every taint the pool's nodes carry, whoever puts it there."""
        taints = [GPU_TAINT] if self.gpu else []
        if self.tpu:
            taints.append(TPU_TAINT)
        if self.queued:
            taints.append(QUEUED_TAINT)
        return (*taints, *self.declared_taints)

    @property
    def declared_taints(self) -> tuple[Taint, ...]:
        """The taints the pool has to ask for, because GKE does not add them by itself."""
        return (SPOT_TAINT,) if self.provisioning == "spot" else ()

    @property
    def capacity(self) -> dict[str, str]:
        """What one node holds, as Kubernetes quantities, before GKE's own reservations."""
        capacity = {"cpu": str(self.machine.vcpus), "memory": f"{self.machine.memory_gib}Gi"}
        if gpus := self.gpu.offered if self.gpu else self.machine.gpu_count:
            capacity[GPU_RESOURCE] = str(gpus)
        if self.machine.tpu_chips:
            capacity[TPU_RESOURCE] = str(self.machine.tpu_chips)
        return capacity | {"pods": str(self.max_pods_per_node or PODS_PER_NODE)}
