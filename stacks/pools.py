"""Node pools: what a pool asks of GKE, and the ResourceFlavor, labels and taints that follow from it."""

import re
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, Field

from stacks.machines import MACHINES, Machine
from stacks.model import DnsSubdomain, Model, refuse
from stacks.problems import did_you_mean

POOL_NAME = re.compile(r"[a-z]([-a-z0-9]{0,34}[a-z0-9])?")
PODS_PER_NODE = "110"  # GKE Standard's default
GPU_RESOURCE = "nvidia.com/gpu"

Provisioning = Literal["on-demand", "spot", "queued"]


class Taint(NamedTuple):
    key: str
    value: str
    effect: str


# GKE puts these on by itself, on pools with GPUs and on pools of queued provisioning.
GPU_TAINT = Taint("nvidia.com/gpu", "present", "NoSchedule")
QUEUED_TAINT = Taint("cloud.google.com/gke-queued", "true", "NoSchedule")
# GKE labels spot nodes but leaves their taint to the pool.
SPOT_TAINT = Taint("cloud.google.com/gke-spot", "true", "NoSchedule")


def _pool_name(name: str) -> str:
    if not POOL_NAME.fullmatch(name):
        refuse(
            "1 to 36 of a-z, 0-9 and '-', from a letter to a letter or digit (GKE API: NodePool.name)",
            "choose such a name",
        )
    return name


def _machine_type(name: str) -> str:
    if name not in MACHINES:
        refuse(
            "a machine type of the table in stacks/machines.py, where new ones can be added",
            did_you_mean(name, MACHINES),
        )
    return name


class Gpu(Model):
    """The GPUs of each node; `driver` is what GKE installs (`default`, `latest`) or `disabled` for none."""

    type: str
    count: Annotated[int, Field(ge=1)]
    driver: Literal["default", "latest", "disabled"] = "latest"


class Nodes(Model):
    """How many nodes in all a pool may have; `initial` is counted for each zone, as GKE does."""

    min: Annotated[int, Field(ge=0)] = 0
    max: Annotated[int, Field(ge=1)]
    initial: Annotated[int, Field(ge=0)] | None = None


class Pool(Model):
    """One node pool. Its flavor is named after it unless `flavor` says otherwise."""

    name: Annotated[str, AfterValidator(_pool_name)]
    machine_type: Annotated[str, AfterValidator(_machine_type)]
    gpu: Gpu | None = None
    provisioning: Provisioning = "on-demand"
    nodes: Nodes
    flavor: DnsSubdomain | None = None

    @property
    def queued(self) -> bool:
        return self.provisioning == "queued"

    @property
    def flavor_name(self) -> str:
        return self.flavor or self.name

    @property
    def machine(self) -> Machine:
        return MACHINES[self.machine_type]

    @property
    def node_labels(self) -> dict[str, str]:
        """The labels by which a ResourceFlavor finds the pool's nodes; GKE sets all of them."""
        labels = {"cloud.google.com/gke-nodepool": self.name}
        if self.gpu:
            labels["cloud.google.com/gke-accelerator"] = self.gpu.type
        if self.provisioning == "spot":
            labels["cloud.google.com/gke-spot"] = "true"
        return labels

    @property
    def node_taints(self) -> tuple[Taint, ...]:
        """Every taint the pool's nodes carry, whoever puts it there."""
        taints = [GPU_TAINT] if self.gpu else []
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
        if self.machine.gpu_count:
            capacity[GPU_RESOURCE] = str(self.machine.gpu_count)
        return capacity | {"pods": PODS_PER_NODE}
