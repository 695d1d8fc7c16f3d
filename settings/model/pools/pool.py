"""Node pools: the ResourceFlavor, labels, taints and sizes derived from their settings."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, Self

from pydantic import PrivateAttr, ValidationInfo, model_validator

from muster.objects.names import POOL_LABEL
from settings.model.pools.fields import PoolFields
from settings.model.pools.gpus import GPU_RESOURCE
from settings.model.pools.machine_facts import described_machines
from settings.model.pools.machines import MACHINES, Machine
from settings.model.pools.node_system import HUGEPAGE_BYTES
from settings.model.pools.parts import Nodes
from settings.model.pools.tpus import TPU_RESOURCE

RDMA = ("a3-ultragpu-", "a4-", "a4x-")
PODS_PER_NODE = 110  # GKE Standard's default
# Additional VPCs in which a node with GPUDirect has an interface: a3-highgpu-8g (TCPX) and a3-megagpu-8g
# (TCPXO); GKE, "Maximize GPU network bandwidth".
GPUDIRECT_NETWORKS = {"tcpx": 4, "tcpxo": 8}
NVLINK_NODES = 18  # of a4x machines, whose 72 GPUs are connected to each other

# Label and taint of the nodes of a ComputeClass (GKE, "About custom ComputeClasses").
COMPUTE_CLASS = "cloud.google.com/compute-class"


class Taint(NamedTuple):
    """A taint of a pool's nodes."""

    key: str
    value: str
    effect: str


# GKE adds these by itself, on pools with accelerators, of Arm machines, and with queued provisioning.
GPU_TAINT = Taint("nvidia.com/gpu", "present", "NoSchedule")
TPU_TAINT = Taint("google.com/tpu", "present", "NoSchedule")
ARM_TAINT = Taint("kubernetes.io/arch", "arm64", "NoSchedule")
QUEUED_TAINT = Taint("cloud.google.com/gke-queued", "true", "NoSchedule")
# GKE labels spot nodes but does not taint them.
SPOT_TAINT = Taint("cloud.google.com/gke-spot", "true", "NoSchedule")


class Pool(PoolFields):
    """A node pool, and the ResourceFlavor by which quotas refer to it."""

    _described: Mapping[str, Machine] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _keep_described_machines(self, info: ValidationInfo) -> Self:
        self._described = described_machines(info)
        return self

    @property
    def queued(self) -> bool:
        """Returns whether its nodes are requested for entire gangs (queued provisioning)."""
        return self.provisioning == "queued"

    @property
    def scheduled(self) -> bool:
        """Returns whether Dynamic Workload Scheduler provides the nodes, for a limited time."""
        return self.provisioning in ("queued", "flex-start")

    @property
    def flex_start_vms(self) -> bool:
        """Returns whether the nodes are flex-start VMs (GKE, "About flex-start")."""
        return self.scheduled and self.flex_start is not False

    @property
    def flavor_name(self) -> str:
        """The name of its ResourceFlavor."""
        return self.flavor or self.name

    @property
    def machine(self) -> Machine:
        """The resources of its machine type."""
        return self._described.get(self.machine_type) or MACHINES[self.machine_type]

    @property
    def variants(self) -> tuple["Pool", ...]:
        """The pools whose nodes it may have: itself, or one for each priority of its ComputeClass."""
        if self.compute_class is None:
            return (self,)
        own = set(type(self).model_fields)
        priorities = [way.model_dump(include=own, exclude_none=True) for way in self.compute_class.priorities]
        return tuple(self.model_copy(update={**way, "compute_class": None}) for way in priorities)

    @property
    def slice_nodes(self) -> int:
        """Nodes per TPU slice; 1 for all other pools."""
        return self.tpu.machines(self.machine) if self.tpu else 1

    @property
    def multi_host(self) -> bool:
        """Returns whether one TPU slice takes several nodes, which GKE creates and deletes together."""
        return self.slice_nodes > 1

    @property
    def numbered(self) -> bool:
        """Returns whether it has a node pool in GKE for each slice or NVLink domain."""
        return self.slices is not None or self.placement == "nvlink"

    @property
    def node_pools(self) -> tuple[str, ...]:
        """Names of its node pools in GKE: its own name, or one per slice or NVLink domain; none with a
        ComputeClass.

        In GKE a node pool of a multi-host topology is one slice and scales between zero and all its nodes
        ("Plan TPUs in GKE"), so `slices: {max: 2}` makes two node pools. Unlike cluster-toolkit's num_slices,
        a single one is numbered too: adding a second slice must not recreate the first.
        """
        if self.compute_class:
            return ()
        if not self.numbered:
            return (self.name,)
        count = self.slices.max if self.slices else -(-self.nodes_max // NVLINK_NODES)
        return tuple(f"{self.name}-{index}" for index in range(count))

    def nodes_in(self, index: int) -> Nodes | None:
        """Returns the size limits of one of its node pools: of NVLink domains, the first ones are full."""
        if self.nodes is None or self.placement != "nvlink":
            return self.nodes
        counts = self.nodes.model_dump(exclude_none=True).items()
        return Nodes(**{key: min(NVLINK_NODES, max(0, n - index * NVLINK_NODES)) for key, n in counts})

    @property
    def nodes_max(self) -> int:
        """The most nodes that the pool may have."""
        if self.slices:
            return self.slices.max * self.slice_nodes
        return self.nodes.max if self.nodes else 0

    @property
    def image_streamed(self) -> bool:
        """Returns whether images are streamed, also because secondary boot disks require it (GKE)."""
        return self.image_streaming or bool(self.secondary_boot_disks)

    @property
    def gpu_networks(self) -> int:
        """Number of networks that the stack creates for the GPU traffic of a node."""
        return GPUDIRECT_NETWORKS.get(self.gpudirect or "", 0)

    @property
    def nccl_plugin(self) -> Literal["tcpx", "tcpxo", "rdma", "rdma-arm"] | None:
        """The plug-in by which NCCL uses the GPUs' own network interfaces, if they have any."""
        if self.dranet and self.machine_type.startswith(RDMA):
            return "rdma-arm" if self.machine.arm else "rdma"
        return self.gpudirect if self.gpudirect != "rdma" else None

    @property
    def local_ssd_count(self) -> int:
        """The number of local SSDs of a node: as set, else of the machine type."""
        return self.local_ssds or self.machine.local_ssds

    @property
    def declared_labels(self) -> dict[str, str]:
        """Node labels that the pool must declare because GKE does not add them."""
        labels = dict(self.labels)
        if self.numbered:
            # Each slice or NVLink domain is a node pool: no label of GKE covers them all.
            labels[POOL_LABEL] = self.name
        if self.dranet:
            labels["cloud.google.com/gke-networking-dra-driver"] = "true"
        if self.gpu and self.gpu.driver == "disabled":
            # Otherwise the device plugins of GKE and of the GPU Operator would both advertise the GPUs.
            labels["gke-no-default-nvidia-gpu-device-plugin"] = "true"
        return labels

    @property
    def node_labels(self) -> dict[str, str]:
        """Labels by which a ResourceFlavor selects the pool's nodes.

        A ComputeClass alone decides on machines and provisioning: selectors for these could contradict it.
        """
        if self.compute_class:
            return {COMPUTE_CLASS: self.name, **self.declared_labels}
        labels = {} if self.numbered else {"cloud.google.com/gke-nodepool": self.name}
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
        """All taints of the pool's nodes, GKE's and declared ones."""
        taints = [GPU_TAINT] if self.gpu else []
        if self.tpu:
            taints.append(TPU_TAINT)
        if self.machine.arm:
            taints.append(ARM_TAINT)
        if self.queued:
            taints.append(QUEUED_TAINT)
        if self.compute_class:
            taints.append(Taint(COMPUTE_CLASS, self.name, "NoSchedule"))
            taints += [SPOT_TAINT] if any(pool.provisioning == "spot" for pool in self.variants) else []
        return (*taints, *self.declared_taints)

    @property
    def declared_taints(self) -> tuple[Taint, ...]:
        """Taints that the pool must declare because GKE does not add them."""
        return (SPOT_TAINT,) if self.provisioning == "spot" else ()

    @property
    def capacity(self) -> dict[str, str]:
        """Capacity of one node as Kubernetes quantities, before GKE's reservations."""
        capacity = {"cpu": str(self.machine.vcpus), "memory": f"{self.machine.memory_gib}Gi"}
        if gpus := self.gpu.offered if self.gpu else self.machine.gpu_count:
            capacity[GPU_RESOURCE] = str(gpus)
        if self.machine.tpu_chips:
            capacity[TPU_RESOURCE] = str(self.machine.tpu_chips)
        for size, count in self.linux.hugepages.items() if self.linux else ():
            capacity[f"hugepages-{size}"] = str(HUGEPAGE_BYTES[size] * count)
        return capacity | {"pods": str(self.max_pods_per_node or PODS_PER_NODE)}

    @property
    def accelerators(self) -> int:
        """GPUs or TPU chips of one node."""
        return sum(int(amount) for resource, amount in self.capacity.items() if "/" in resource)
