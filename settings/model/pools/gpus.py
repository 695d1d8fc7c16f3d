"""GPUs of a pool's nodes: type, driver, and how a GPU is shared by pods."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from settings.facts.tables import table
from settings.model.base import Model

GPU_RESOURCE = "nvidia.com/gpu"

PARTITIONS: Mapping[str, Mapping[str, int]] = table("gpu_partitions").facts
"""GPU -> size -> number of MIG partitions of this size per GPU."""
ATTACHABLE: Mapping[str, Mapping[int, int]] = {
    gpu: {int(count): vcpus for count, vcpus in counts.items()}
    for gpu, counts in table("attachable_gpus").facts.items()
}
"""GPUs that can be attached to n1 machines -> count -> most vCPUs with it."""


class Sharing(Model):
    """Lets several containers use one GPU, or one partition of it, at the same time."""

    strategy: Literal["time-sharing", "mps"]
    """Sharing by time slices (`time-sharing`), or concurrently by NVIDIA's Multi-Process Service (`mps`)."""
    max_clients: Annotated[int, Field(ge=2, le=48)]
    """Containers per GPU or partition; a node offers this many `nvidia.com/gpu` for each."""


class Gpu(Model):
    """The GPUs of each node."""

    type: str
    """GKE's name of the GPU, such as nvidia-l4: the machine type's, or one to attach to n1 machines."""
    count: Annotated[int, Field(ge=1)]
    """GPUs per node: as many as the machine type has; n1 machines take 1, 2, 4 or 8."""
    driver: Literal["default", "latest", "disabled"] = "latest"
    """Driver version that GKE installs; `disabled` if something else installs the driver."""
    partition: str | None = None
    """Size of the MIG partitions that each GPU is split into, by NVIDIA's name (1g.10gb)."""
    sharing: Sharing | None = None
    """Lets several containers use one GPU; each counts as one `nvidia.com/gpu` against quota."""

    @property
    def offered(self) -> int:
        """Number of `nvidia.com/gpu` that a node offers: each share of a GPU counts as one."""
        partitions = PARTITIONS.get(self.type, {}).get(self.partition, 1) if self.partition else 1
        return self.count * partitions * (self.sharing.max_clients if self.sharing else 1)

    @property
    def node_labels(self) -> dict[str, str]:
        """Labels that GKE adds to the nodes, for pods' node selectors."""
        labels = {"cloud.google.com/gke-accelerator": self.type}
        if self.partition:
            labels["cloud.google.com/gke-gpu-partition-size"] = self.partition
        if self.sharing:
            labels["cloud.google.com/gke-gpu-sharing-strategy"] = self.sharing.strategy
            labels["cloud.google.com/gke-max-shared-clients-per-gpu"] = str(self.sharing.max_clients)
        return labels
