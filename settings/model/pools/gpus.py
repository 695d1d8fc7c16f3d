"""GPUs of a pool's nodes: their driver, and how one of them is split among pods."""

from typing import Annotated, Literal

from pydantic import Field

from settings.model.base import Model

GPU_RESOURCE = "nvidia.com/gpu"

# How many partitions of a size one GPU is split into (GKE's device plugin, pkg/gpu/nvidia/mig/mig.go).
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
    "nvidia-rtx-pro-6000": {"1g.24gb": 4, "2g.48gb": 2, "4g.96gb": 1},
}

# GPUs that n1 machines take: how many, and the most vCPUs beside them (Compute Engine, "GPU machine types").
ATTACHABLE: dict[str, dict[int, int]] = {
    "nvidia-tesla-t4": {1: 48, 2: 48, 4: 96},
    "nvidia-tesla-v100": {1: 12, 2: 24, 4: 48, 8: 96},
}


class Sharing(Model):
    """Containers that share one GPU, or one partition of it, at the same time (GKE takes 2 to 48)."""

    strategy: Literal["time-sharing", "mps"]
    """In turns (`time-sharing`), or at once by NVIDIA's Multi-Process Service (`mps`)."""
    max_clients: Annotated[int, Field(ge=2, le=48)]
    """How many share one; a node offers so many times its `nvidia.com/gpu`."""


class Gpu(Model):
    """The GPUs of each node."""

    type: str
    """As GKE names it, such as nvidia-l4: what the machine type carries, or one that n1 machines take."""
    count: Annotated[int, Field(ge=1)]
    """As many as the machine type carries; n1 machines take 1, 2, 4 or 8."""
    driver: Literal["default", "latest", "disabled"] = "latest"
    """What GKE installs, or `disabled` where something else installs it."""
    partition: str | None = None
    """The size of the MIG partitions that each GPU is split into, as NVIDIA names them (1g.10gb)."""
    sharing: Sharing | None = None
    """Lets several containers use one GPU; each counts against quota as one `nvidia.com/gpu`."""

    @property
    def offered(self) -> int:
        """How many `nvidia.com/gpu` a node offers: each share of a GPU counts as one."""
        partitions = PARTITIONS.get(self.type, {}).get(self.partition, 1) if self.partition else 1
        return self.count * partitions * (self.sharing.max_clients if self.sharing else 1)

    @property
    def node_labels(self) -> dict[str, str]:
        """What GKE puts on the nodes for pods to choose by."""
        labels = {"cloud.google.com/gke-accelerator": self.type}
        if self.partition:
            labels["cloud.google.com/gke-gpu-partition-size"] = self.partition
        if self.sharing:
            labels["cloud.google.com/gke-gpu-sharing-strategy"] = self.sharing.strategy
            labels["cloud.google.com/gke-max-shared-clients-per-gpu"] = str(self.sharing.max_clients)
        return labels
