"""The settings of a node pool."""

from typing import Annotated, Literal

from pydantic import Field

from settings.model.base import DnsSubdomain, Model
from settings.model.google_cloud import TagKey, TagValue
from settings.model.pools.gpus import Gpu
from settings.model.pools.node_system import Kubelet, Linux
from settings.model.pools.parts import BootDisk, ComputeClass, DaemonSets, DiskImage, Nodes, Upgrade
from settings.model.pools.tpus import Slices, Tpu
from settings.model.pools.values import (
    LabelKey,
    LabelValue,
    MachineType,
    PoolName,
    Provisioning,
    Reservation,
    ServiceAccount,
)
from settings.model.regions import Zone


class PoolFields(Model):
    """The settings of a node pool; `Pool` derives labels, taints and sizes from them."""

    name: PoolName
    """Name of the node pool in GKE; the node pools of multi-host TPU slices are numbered (`v6e-0`, …)."""
    machine_type: MachineType
    """A machine type that `settings/facts/machines.toml` lists, or `muster:machineTypes` describes."""
    gpu: Gpu | None = None
    """GPUs of each node; required if the machine type has GPUs, optional on `n1` machines."""
    tpu: Tpu | None = None
    """TPU topology; required if the machine type has TPU chips."""
    provisioning: Provisioning = "on-demand"
    """Source of the nodes: `on-demand`, `spot`, from a reservation (`reserved`), for a limited time when
    capacity is available (`flex-start`), or all nodes of a gang together by a ProvisioningRequest (`queued`),
    for which the stack adds an admission check."""
    flex_start: bool | None = None
    """Declares nodes of queued pools as flex-start VMs, as in GKE's guide (true if unset). `false`
    declares the pool as before flex-start, and leaves its management to GKE."""
    reservation: Reservation | None = None
    """The reservation that `provisioning: reserved` uses."""
    compute_class: ComputeClass | None = None
    """Instead of a fixed node pool: GKE creates nodes in the first way of a list in which it can get them."""
    nodes: Nodes | None = None
    """Size limits of the pool; pools of multi-host TPU slices use `slices` instead."""
    slices: Slices | None = None
    """Limit of multi-host TPU slices."""
    zones: tuple[Zone, ...] = ()
    """Zones of the nodes (none: the cluster's)."""
    placement: Literal["compact", "nvlink"] | None = None
    """`compact`: places nodes close to each other, for lower network latency. `nvlink`, for a4x machines:
    places each 18 nodes, 72 GPUs, in an NVLink domain; each is a numbered node pool (`gb200-0`, …)."""
    topology: tuple[LabelKey, ...] = ()
    """Labels of the levels at which nodes are connected, the largest first, such as
    cloud.google.com/gce-topology-block and kubernetes.io/hostname: the flavor gets a Topology of them, and
    gangs that ask for it are placed close together. A flavor's levels cannot be changed."""
    upgrade: Upgrade | None = None
    """Upgrade strategy; GKE's default (surge, one node at a time) if unset. Not for queued and flex-start
    pools, which GKE upgrades in its own way."""
    maintenance_exclusion: Literal["until-end-of-support"] | None = None
    """Upgrades nodes only at the end of support of their version, so that they get no security fixes before
    (GKE API: NodePoolMaintenancePolicy.exclusionUntilEndOfSupport); with the cluster if unset."""
    max_run_seconds: Annotated[int, Field(ge=1)] | None = None
    """Time after which GKE stops a node, even if it is in use."""
    boot_disk: BootDisk = BootDisk()
    """Boot disk of the nodes."""
    local_ssds: Annotated[int, Field(ge=1)] | None = None
    """Local SSDs for pods' ephemeral storage, if the machine type does not fix their number."""
    secondary_boot_disks: tuple[DiskImage, ...] = ()
    """Disk images that contain container images, such as Ray's, so that nodes need not pull them."""
    image_streaming: bool | None = None
    """Starts containers before their images are fully pulled."""
    gpudirect: Literal["tcpx", "tcpxo", "rdma"] | None = None
    """GPUDirect: traffic between GPUs of several nodes bypasses the CPUs, over dedicated networks that the
    stack creates, or with `rdma` the networks of `dranet` (GKE API: GPUDirectConfig.gpuDirectStrategy)."""
    dranet: bool = False
    """DRANET: exposes the network interfaces of accelerators as Kubernetes resources, on networks that GKE
    creates."""
    fast_socket: bool = False
    """NCCL Fast Socket, for GPUs that communicate over the nodes' primary network."""
    max_pods_per_node: Annotated[int, Field(ge=8, le=256)] | None = None
    """Pods per node; 110 if unset, as in GKE. A node takes twice as many addresses from the range for pods,
    rounded up to a power of two."""
    daemon_sets: DaemonSets | None = None
    """Requests of DaemonSets on each node, which quotas leave free; an estimate of GKE's own if unset."""
    service_account: ServiceAccount | None = None
    """Service account of the nodes; if unset, the stack creates an account that may write logs and pull
    images."""
    secure_boot: bool = True
    """Loads signed kernel modules only (CIS GKE 5.5.7); set to false for drivers of your own."""
    confidential_nodes: Literal["sev", "sev-snp", "tdx"] | None = None
    """Encrypts the nodes' memory with keys that stay in the CPU, by AMD's or Intel's technology (GKE API:
    ConfidentialNodes.confidentialInstanceType). Changing it recreates the node pool."""
    kubelet: Kubelet | None = None
    """Settings of the kubelet; GKE's defaults if unset."""
    linux: Linux | None = None
    """Kernel parameters and huge pages; GKE's defaults if unset."""
    resource_manager_tags: dict[TagKey, TagValue] = Field(default_factory=dict)
    """Tags of the nodes for network firewall policies, in addition to the cluster's; at most 5 (GKE API:
    ResourceManagerTags)."""
    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    """Additional node labels, which the flavor has too."""
    existing: bool = False
    """True for a node pool that is already in the cluster: the stack declares its flavor only; with
    `muster:cluster.gke` of kind existing."""
    flavor: DnsSubdomain | None = None
    """Name of the ResourceFlavor; the pool's name if unset."""
