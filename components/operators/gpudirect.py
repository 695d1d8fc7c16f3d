"""Google's installers of NCCL plug-ins on nodes with GPUDirect.

Source: GKE, "Maximize GPU network bandwidth in Standard mode clusters", and AI Hypercomputer, "Create an
AI-optimized GKE cluster": both apply these manifests.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.yaml.v2 import ConfigGroup

from components.base import Component
from settings.model.operators.gpus import GpuDirect as GpuDirectSettings
from settings.model.pools.pool import Pool

MANIFESTS = "https://raw.githubusercontent.com/GoogleCloudPlatform/container-engine-accelerators"
# The injector gives GPUs' devices to the sidecars of TCPX and TCPXO that are not privileged.
INJECTOR = "nri_device_injector/nri-device-injector.yaml"
FILES = {
    "tcpx": ("gpudirect-tcpx/nccl-tcpx-installer.yaml", INJECTOR),
    "tcpxo": ("gpudirect-tcpxo/nccl-tcpxo-installer.yaml", INJECTOR),
    "rdma": ("gpudirect-rdma/nccl-rdma-installer.yaml",),
    "rdma-arm": ("gpudirect-rdma/nccl-rdma-installer-a4x.yaml",),
}


@dataclass(frozen=True)
class GpuDirectArgs:
    """`installers`: addresses of the manifests."""

    installers: tuple[str, ...]


class GpuDirect(Component):
    """The installers of NCCL plug-ins, as Google publishes them."""

    def __init__(self, name: str, args: GpuDirectArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("GpuDirect", name, opts)
        files = list(args.installers)
        ConfigGroup(self.named("nccl-installers"), files=files, opts=self.child())
        self.register_outputs({"files": files})


def installers(gpudirect: GpuDirectSettings, pools: Iterable[Pool]) -> tuple[str, ...]:
    """Returns the addresses of the manifests that these pools need, each once."""
    if gpudirect.install == "none":
        return ()
    kinds = [pool.nccl_plugin for pool in pools if pool.nccl_plugin and not pool.existing]
    files = dict.fromkeys(file for kind in kinds for file in FILES[kind])
    return tuple(f"{MANIFESTS}/{gpudirect.commit}/{file}" for file in files)
