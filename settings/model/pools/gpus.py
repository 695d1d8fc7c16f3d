"""GPUs of a pool's nodes: type, driver, and how a GPU is shared by pods."""

from typing import Annotated, Literal

from pydantic import Field

from settings.model.base import Model

GPU_RESOURCE = "nvidia.com/gpu"

# Number of partitions of a size per GPU (GKE's device plugin, pkg/gpu/nvidia/mig/mig.go; GB200: GKE's
# cluster-autoscaler, machinetypes).
_A100 = {"1g.5gb": 7, "2g.10gb": 3, "3g.20gb": 2, "7g.40gb": 1}
_A100_80 = {"1g.10gb": 7, "2g.20gb": 3, "3g.40gb": 2, "7g.80gb": 1}
PARTITIONS: dict[str, dict[str, int]] = {
    "nvidia-tesla-a100": _A100,
    "nvidia-a100-80gb": _A100_80,
    "nvidia-h100-80gb": {**_A100_80, "1g.20gb": 4},
    "nvidia-h200-141gb": {
        "1g.18gb": 7,
        "1g.35gb": 4,
        "2g.35gb": 3,
        "3g.71gb": 2,
        "4g.71gb": 1,
        "7g.141gb": 1,
    },
    "nvidia-b200": {"1g.23gb": 7, "1g.45gb": 4, "2g.45gb": 3, "3g.90gb": 2, "4g.90gb": 1, "7g.180gb": 1},
    "nvidia-gb200": {"1g.23gb": 7, "1g.47gb": 4, "2g.47gb": 3, "3g.93gb": 2, "7g.186gb": 1},
    "nvidia-rtx-pro-6000": {"1g.24gb": 4, "2g.48gb": 2, "4g.96gb": 1},
}

# GPUs that can be attached to n1 machines: count -> most vCPUs with it (Compute Engine, "GPU machine types").
ATTACHABLE: dict[str, dict[int, int]] = {
    "nvidia-tesla-t4": {1: 48, 2: 48, 4: 96},
    "nvidia-tesla-v100": {1: 12, 2: 24, 4: 48, 8: 96},
}


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
