"""Properties of a pool: its flavor's labels and taints, a node's capacity, and its node pools in GKE."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from settings.load import parse
from settings.model.pools.allocatable import allocatable
from settings.model.pools.machines import MACHINES
from settings.model.pools.parts import Nodes
from settings.model.pools.pool import Pool, Taint
from settings.model.pools.tpus import Tpu, is_topology_of, smallest_topology
from tests.unit.settings.builders import FILE, with_pool
from tests.unit.settings.pools.builders import (
    CPU,
    FLEX,
    GB200,
    GPU,
    H200,
    NVLINK,
    QUEUED,
    SLICES,
    SPOT,
    UP_TO_4,
    V6E,
)

GPU_TAINT = Taint("nvidia.com/gpu", "present", "NoSchedule")
TPU_TAINT = Taint("google.com/tpu", "present", "NoSchedule")
QUEUED_TAINT = Taint("cloud.google.com/gke-queued", "true", "NoSchedule")
SPOT_TAINT = Taint("cloud.google.com/gke-spot", "true", "NoSchedule")
A100 = {"type": "nvidia-tesla-a100", "count": 8}
TIME_SHARING = {"strategy": "time-sharing", "maxClients": 4}


def pool_of(pool: dict[str, Any]) -> Pool:
    return parse(with_pool(pool), FILE).pools[2]


# Case -> the pool, its nodes' labels besides that of the node pool, and their taints.
KINDS: dict[str, tuple[dict[str, Any], dict[str, str], tuple[Taint, ...]]] = {
    "CPUs": (CPU, {}, ()),
    "declared labels": ({**CPU, "labels": {"team": "data"}}, {"team": "data"}, ()),
    "queued GPUs: GKE adds the taints": (
        {**GPU, **QUEUED},
        {"gke-accelerator": "nvidia-l4"},
        (GPU_TAINT, QUEUED_TAINT),
    ),
    "flex-start": (
        {**GPU, **FLEX},
        {"gke-accelerator": "nvidia-l4", "gke-flex-start": "true"},
        (GPU_TAINT,),
    ),
    "spot: the pool adds the taint": (
        {**GPU, **SPOT},
        {"gke-accelerator": "nvidia-l4", "gke-spot": "true"},
        (GPU_TAINT, SPOT_TAINT),
    ),
    "GPUs partitioned and shared": (
        {
            "machineType": "a2-highgpu-8g",
            **UP_TO_4,
            "gpu": {**A100, "partition": "1g.5gb", "sharing": TIME_SHARING},
        },
        {
            "gke-accelerator": "nvidia-tesla-a100",
            "gke-gpu-partition-size": "1g.5gb",
            "gke-gpu-sharing-strategy": "time-sharing",
            "gke-max-shared-clients-per-gpu": "4",
        },
        (GPU_TAINT,),
    ),
    "DRANET": (
        {**H200, "dranet": True},
        {"gke-accelerator": "nvidia-h200-141gb", "gke-networking-dra-driver": "true", "gke-spot": "true"},
        (GPU_TAINT, SPOT_TAINT),
    ),
    "TPUs": (V6E, {"gke-tpu-accelerator": "tpu-v6e-slice", "gke-tpu-topology": "2x2"}, (TPU_TAINT,)),
}


@pytest.mark.parametrize(("pool", "labels", "taints"), KINDS.values(), ids=KINDS.keys())
def test_pool_has_the_labels_and_taints_of_its_nodes(
    pool: dict[str, Any], labels: dict[str, str], taints: tuple[Taint, ...]
) -> None:
    parsed = pool_of(pool)

    google = {f"cloud.google.com/{k}" if k.startswith("gke-") else k: v for k, v in labels.items()}
    assert parsed.node_labels == {"cloud.google.com/gke-nodepool": "more", **google}
    assert parsed.node_taints == taints


def test_slices_have_a_label_that_all_their_node_pools_share() -> None:
    slices = pool_of(SLICES)

    assert slices.node_pools == ("more-0", "more-1")
    assert slices.node_labels == {
        "cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice",
        "cloud.google.com/gke-tpu-topology": "4x4",
        "muster.dev/pool": "more",
    }
    assert slices.declared_labels == {"muster.dev/pool": "more"}
    assert (slices.slice_nodes, slices.nodes_max) == (4, 8)


def test_nvlink_domains_are_numbered_node_pools_of_eighteen_nodes() -> None:
    pool = pool_of({**GB200, **NVLINK, "nodes": {"min": 20, "max": 40}})

    assert pool.node_pools == ("more-0", "more-1", "more-2")
    assert pool.node_labels == {
        "cloud.google.com/gke-accelerator": "nvidia-gb200",
        "muster.dev/pool": "more",
    }
    assert [pool.nodes_in(index) for index in range(3)] == [
        Nodes(min=18, max=18),
        Nodes(min=2, max=18),
        Nodes(min=0, max=4),
    ]


def test_arm_machines_have_their_own_taint_and_larger_disks() -> None:
    pool = pool_of(GB200)

    assert pool.node_taints == (GPU_TAINT, Taint("kubernetes.io/arch", "arm64", "NoSchedule"))
    # Four disks of 3000 GiB, without what GKE reserves for eviction (a tenth) and for itself (100 GiB).
    assert allocatable(pool)["ephemeral-storage"] == (4 * 3000 * Fraction("0.9") - 100) * 1024**3


# Case -> the pool, and the capacity of a node that differs from a plain machine's.
OFFERS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "whole GPUs": ({"machineType": "a2-highgpu-8g", "gpu": A100}, {"nvidia.com/gpu": "8"}),
    "seven partitions per GPU": (
        {"machineType": "a2-highgpu-8g", "gpu": {**A100, "partition": "1g.5gb"}},
        {"nvidia.com/gpu": "56"},
    ),
    "four clients per GPU": (
        {"machineType": "a2-highgpu-8g", "gpu": {**A100, "sharing": TIME_SHARING}},
        {"nvidia.com/gpu": "32"},
    ),
    "four clients per partition": (
        {"machineType": "a2-highgpu-8g", "gpu": {**A100, "partition": "3g.20gb", "sharing": TIME_SHARING}},
        {"nvidia.com/gpu": "64"},
    ),
    "GPUs attached to n1": (
        {"machineType": "n1-standard-16", "gpu": {"type": "nvidia-tesla-t4", "count": 2}},
        {"nvidia.com/gpu": "2"},
    ),
    "TPU chips": ({"machineType": "ct6e-standard-8t", "tpu": {"topology": "2x4"}}, {"google.com/tpu": "8"}),
    "fewer pods": ({"machineType": "n2-standard-8", "maxPodsPerNode": 32}, {"pods": "32"}),
}


@pytest.mark.parametrize(("pool", "offer"), OFFERS.values(), ids=OFFERS.keys())
def test_node_capacity_counts_shares_of_accelerators(pool: dict[str, Any], offer: dict[str, str]) -> None:
    parsed = pool_of({**pool, **UP_TO_4})

    machine = {"cpu": str(parsed.machine.vcpus), "memory": f"{parsed.machine.memory_gib}Gi", "pods": "110"}
    assert parsed.capacity == machine | offer


# Machine type, topology -> machines per slice (xpk, cluster-toolkit: chips / chips per machine).
SLICE_SIZES = {
    ("ct5lp-hightpu-1t", "1x1"): 1,
    ("ct5lp-hightpu-4t", "2x2"): 1,
    ("ct5lp-hightpu-4t", "2x4"): 2,
    ("ct5lp-hightpu-8t", "2x4"): 1,
    ("ct5lp-hightpu-4t", "16x16"): 64,
    ("ct5p-hightpu-4t", "2x2x1"): 1,
    ("ct5p-hightpu-4t", "2x2x2"): 2,
    ("ct5p-hightpu-4t", "4x4x8"): 32,
    ("ct6e-standard-4t", "4x4"): 4,
    ("tpu7x-standard-1t", "1x1x1"): 1,
    ("tpu7x-standard-4t", "4x4x4"): 16,
}


@pytest.mark.parametrize(("slice_of", "machines"), SLICE_SIZES.items(), ids=map(" ".join, SLICE_SIZES))
def test_topology_gives_the_machines_per_slice(slice_of: tuple[str, str], machines: int) -> None:
    machine_type, topology = slice_of

    assert is_topology_of(topology, MACHINES[machine_type])
    assert Tpu(topology=topology).machines(MACHINES[machine_type]) == machines


NO_TOPOLOGY = [
    ("ct6e-standard-4t", "1x1"),
    ("ct6e-standard-4t", "2x2x1"),
    ("ct6e-standard-4t", "3x3"),
    ("ct6e-standard-8t", "4x4"),
    ("ct6e-standard-1t", "1x1x1"),
    ("ct5p-hightpu-4t", "4x4"),
    ("ct5p-hightpu-4t", "8x4x4"),
    ("ct5p-hightpu-4t", "16x24x24"),
    ("tpu7x-standard-1t", "1x1"),
]


@pytest.mark.parametrize(("machine_type", "topology"), NO_TOPOLOGY)
def test_topology_of_another_machine_type_is_not_offered(machine_type: str, topology: str) -> None:
    assert not is_topology_of(topology, MACHINES[machine_type])


TPU_MACHINES = [name for name, machine in MACHINES.items() if machine.tpu_chips]


@given(st.sampled_from(TPU_MACHINES), st.lists(st.integers(1, 20), min_size=2, max_size=3))
def test_machines_of_a_slice_have_all_its_chips(name: str, axes: list[int]) -> None:
    machine, topology = MACHINES[name], "x".join(map(str, axes))
    tpu = Tpu(topology=topology)

    assert is_topology_of(smallest_topology(machine), machine)
    assert Tpu(topology=smallest_topology(machine)).machines(machine) == 1
    if is_topology_of(topology, machine):
        assert tpu.machines(machine) * machine.tpu_chips == tpu.chips
