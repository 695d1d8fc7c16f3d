"""Rules of accelerators: machine types, partitions of GPUs, and GPU networking."""

from collections.abc import Iterator

from settings.model.foundation.cluster import Gke
from settings.model.pools.gpus import ATTACHABLE, PARTITIONS, Gpu
from settings.model.pools.machines import Machine
from settings.model.pools.pool import Pool
from settings.model.stack import Settings
from settings.model.versions import GkeVersion
from settings.problems import Doubt, Finding, Path, did_you_mean
from settings.rules.registry import doubt, rule

# RDMA: GKE API, GPUDirectConfig.gpuDirectStrategy (revision of October 2026).
GPUDIRECT_MACHINES = {
    "tcpx": ("a3-highgpu-8g",),
    "tcpxo": ("a3-megagpu-8g",),
    "rdma": ("a3-ultragpu-8g", "a4-highgpu-8g"),
}
DRANET_MACHINES = ("a3-", "a4-", "a4x-", "ct6e-", "tpu7x-")
DRANET_VERSION = GkeVersion.parse("1.34.1-gke.1829001")


@rule("pools")
def pools_suit_their_machines(settings: Settings) -> Iterator[Finding]:
    """A pool has the GPUs of its machine type; n1 machines take a choice of GPUs and counts (Compute Engine,
    GPU machine types)."""
    for i, pool in enumerate(settings.pools):
        machine, path = pool.machine, ("muster:pools", i, "gpu")
        own = f"{{type: {machine.gpu_type}, count: {machine.gpu_count}}}"
        if pool.gpu and machine.attaches_gpus:
            yield from _can_be_attached(pool.gpu, pool.machine_type, machine, path)
        elif pool.gpu and not machine.gpu_type:
            yield Finding(
                path,
                f"no GPU: {pool.machine_type} has none",
                "remove `gpu`, or choose a g2, a2 or a3 machine",
            )
        elif machine.gpu_type and not pool.gpu:
            yield Finding(path, f"{own}, the GPUs of {pool.machine_type}", f"add `gpu: {own}`")
        elif pool.gpu and pool.gpu.type != machine.gpu_type:
            yield Finding(
                (*path, "type"),
                f"{machine.gpu_type}, the GPU of {pool.machine_type}",
                f"write {machine.gpu_type}, or choose another machine type",
            )
        elif pool.gpu and pool.gpu.count != machine.gpu_count:
            yield Finding(
                (*path, "count"),
                f"{machine.gpu_count}, the number of GPUs of {pool.machine_type}",
                f"write {machine.gpu_count}, or choose another machine type",
            )


def _can_be_attached(gpu: Gpu, machine_type: str, machine: Machine, path: Path) -> Iterator[Finding]:
    if gpu.type not in ATTACHABLE:
        yield Finding(
            (*path, "type"),
            f"a GPU for n1 machines: {', '.join(ATTACHABLE)} (Compute Engine, GPU machine types)",
            did_you_mean(gpu.type, ATTACHABLE),
        )
        return
    counts = [count for count, vcpus in ATTACHABLE[gpu.type].items() if machine.vcpus <= vcpus]
    if gpu.count not in counts:
        fitting = " or ".join(map(str, counts)) or "none"
        yield Finding(
            (*path, "count"),
            f"{fitting}: the counts of {gpu.type} that {machine_type} supports (Compute Engine, GPU machine "
            "types)",
            "choose another count or machine type",
        )


@rule("pools")
def partitions_suit_gpus(settings: Settings) -> Iterator[Finding]:
    """A GPU is split into partitions that it supports (GKE, multi-instance GPUs)."""
    for i, pool in enumerate(settings.pools):
        if not pool.gpu or not pool.gpu.partition:
            continue
        path, sizes = ("muster:pools", i, "gpu", "partition"), PARTITIONS.get(pool.gpu.type, {})
        if not sizes:
            yield Finding(
                path,
                f"no partition: {pool.gpu.type} does not support MIG (GKE, multi-instance GPUs)",
                "remove `partition`; `sharing` lets several containers use one GPU",
            )
        elif pool.gpu.partition not in sizes:
            yield Finding(
                path,
                f"a partition of {pool.gpu.type}: {', '.join(sizes)} (GKE, multi-instance GPUs)",
                did_you_mean(pool.gpu.partition, sizes),
            )


@rule("pools")
def gpudirect_suits_machines(settings: Settings) -> Iterator[Finding]:
    """GPUDirect and NCCL Fast Socket are used with machine types and GPUs that support them (GKE, "Maximize
    GPU network bandwidth in Standard mode clusters")."""
    for i, pool in enumerate(settings.pools):
        path: Path = ("muster:pools", i)
        fitting = GPUDIRECT_MACHINES[pool.gpudirect] if pool.gpudirect else ()
        if fitting and pool.machine_type not in fitting:
            yield Finding(
                (*path, "gpudirect"),
                f"no {pool.gpudirect}: it requires {' or '.join(fitting)} (GKE, GPUDirect)",
                "remove `gpudirect`, or choose that machine type",
            )
        if pool.gpudirect and pool.gpu and (pool.gpu.partition or pool.gpu.sharing):
            yield Finding(
                (*path, "gpudirect"),
                "no value: GPUDirect is for pods with all GPUs of a node, and these GPUs are partitioned or "
                "shared (GKE, GPUDirect)",
                "remove it, or `partition` and `sharing`",
            )
        if pool.gpudirect == "rdma" and not pool.dranet:
            yield Finding(
                (*path, "dranet"),
                "true: GPUDirect RDMA uses the networks of GKE's accelerator network profile "
                "(compute-class-api: Priority)",
                "write dranet: true, or remove `gpudirect`",
            )
        if pool.gpu_networks and pool.dranet:
            yield Finding(
                (*path, "dranet"),
                "either dranet or gpudirect: DRANET creates the networks itself (cluster-toolkit)",
                "remove one of them",
            )
        if pool.fast_socket and not pool.gpu:
            yield Finding(
                (*path, "fastSocket"),
                "false: it speeds up traffic between GPUs, and the pool has none (GKE, NCCL Fast Socket)",
                "remove it",
            )


@rule("cluster", "pools")
def dranet_is_served(settings: Settings) -> Iterator[Finding]:
    """DRANET requires certain machine types, a version and Dataplane V2 (cluster-toolkit, gke-node-pool)."""
    cluster = settings.cluster
    for i, pool in enumerate(settings.pools):
        if not pool.dranet:
            continue
        if not pool.machine_type.startswith(DRANET_MACHINES):
            yield Finding(
                ("muster:pools", i, "dranet"),
                "no DRANET: it requires a3, a4, a4x, ct6e or tpu7x machines (cluster-toolkit, gke-node-pool)",
                "remove `dranet`, or choose such a machine type",
            )
        if isinstance(cluster, Gke):
            yield from _cluster_serves_dranet(pool, cluster)


def _cluster_serves_dranet(pool: Pool, cluster: Gke) -> Iterator[Finding]:
    if GkeVersion.parse(cluster.version) < DRANET_VERSION:
        yield Finding(
            ("muster:cluster", "version"),
            f"{DRANET_VERSION} or later, for DRANET in pool {pool.name} (cluster-toolkit, gke-node-pool)",
            "raise it, or remove `dranet`",
        )
    if not cluster.dataplane_v2:
        yield Finding(
            ("muster:cluster", "dataplaneV2"),
            f"true, for DRANET in pool {pool.name} (cluster-toolkit, gke-node-pool)",
            "remove `dataplaneV2`, or `dranet`",
        )


@doubt("pools")
def partitions_may_not_be_shared(settings: Settings) -> Iterator[Doubt]:
    """MPS shares whole GPUs: NVIDIA's device plugin offers no devices of GPUs that are partitioned and shared
    by MPS (NVIDIA/k8s-device-plugin, README: "With CUDA MPS")."""
    for i, pool in enumerate(settings.pools):
        if pool.gpu and pool.gpu.partition and pool.gpu.sharing and pool.gpu.sharing.strategy == "mps":
            yield Doubt(
                ("muster:pools", i, "gpu", "sharing", "strategy"),
                "NVIDIA's device plugin does not support MPS on partitioned GPUs, whose nodes may offer no "
                "devices; time-sharing is supported",
                "NVIDIA/k8s-device-plugin, README",
            )
