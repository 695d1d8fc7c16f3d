"""Quotas and the nodes behind them: what GKE leaves of a node, and which quotas are refused."""

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from settings.load import load, parse
from settings.model.base import amount
from settings.model.pools.allocatable import GIB, allocatable
from settings.model.pools.pool import Pool
from settings.rules.capacity import for_queues
from settings.rules.queues import holders
from tests.unit.settings.builders import EXISTING, FILE, GOOD, L4, TEAM_A, Case, put, refusal
from tests.unit.settings.pools.builders import H100, SLICES, UP_TO_4

STACKS = sorted((Path(__file__).parents[4] / "stacks").glob("Pulumi.*.yaml"))
MIB = Fraction(1, 1024)
FILE_SYSTEM = 98831908 / 1024**2 / 100  # of the same example
N1 = {"machineType": "n1-standard-4", **UP_TO_4}

# Case -> the pool, and cores, GiB of memory and GiB of ephemeral storage of a node (GKE, "Plan GKE Standard
# node sizes"). The first is the guide's example of a node: 3920m, and 47060071478 bytes of storage.
NODES: dict[str, tuple[dict[str, Any], str, Fraction, float]] = {
    "4 cores, 15 GiB, a boot disk of 100 GB": (
        N1,
        "3.92",
        15 - Fraction("2.5") - 100 * MIB,
        47060071478 / GIB,
    ),
    "2 cores, 8 GiB": (
        {"machineType": "e2-standard-2", **UP_TO_4},
        "1.93",
        8 - Fraction("1.8") - 100 * MIB,
        47060071478 / GIB,
    ),
    "more than 110 pods take 400m more": (
        {**N1, "maxPodsPerNode": 200},
        "3.52",
        15 - Fraction("2.5") - 100 * MIB,
        47060071478 / GIB,
    ),
    "208 cores, 1872 GiB, 16 local SSDs": (
        H100,
        "207.41",
        1872 - Fraction("9.32") - (1872 - 128) * Fraction("0.02") - 100 * MIB,
        16 * 375 * 0.9 - 100,
    ),
    "one local SSD": (
        {**N1, "localSsds": 1},
        "3.92",
        15 - Fraction("2.5") - 100 * MIB,
        375 * 0.9 - 50,
    ),
    "a large boot disk: GKE reserves 100 GiB of it": (
        {**N1, "bootDisk": {"sizeGb": 1000}},
        "3.92",
        15 - Fraction("2.5") - 100 * MIB,
        1000 * FILE_SYSTEM * 0.9 - 100,
    ),
    "a small boot disk: GKE reserves half of it": (
        {**N1, "bootDisk": {"sizeGb": 20}},
        "3.92",
        15 - Fraction("2.5") - 100 * MIB,
        20 * FILE_SYSTEM * 0.9 - 10,
    ),
}


@pytest.mark.parametrize(("pool", "cpu", "memory", "storage"), NODES.values(), ids=NODES.keys())
def test_gke_reserves_part_of_each_node(
    pool: dict[str, Any], cpu: str, memory: Fraction, storage: float
) -> None:
    node = allocatable(Pool.model_validate({"name": "more", **pool}))

    assert node["cpu"] == Fraction(cpu)
    assert node["memory"] == memory * GIB
    assert float(node["ephemeral-storage"] / GIB) == pytest.approx(storage, abs=0.001)


def test_chips_of_slices_are_those_of_all_their_machines() -> None:
    settings = parse(put("muster:pools", 2, {"name": "v6e", "zones": ["us-west1-b"], **SLICES}), FILE)

    assert for_queues(settings.pools[2], settings)["google.com/tpu"] == 2 * 16


def test_pods_of_the_system_and_the_stack_take_off_the_system_pool() -> None:
    settings = parse(GOOD, FILE)
    system, l4 = settings.pools
    taken = {
        pool.name: pool.nodes_max * allocatable(pool)["cpu"] - for_queues(pool, settings)["cpu"]
        for pool in (system, l4)
    }

    # DaemonSets of each node; on the system pool also GKE's pods, KubeRay and two controllers.
    assert taken == {"system": Fraction("1.2") + 1 + Fraction("0.25") + Fraction("0.2"), "l4": 4}


def test_a_pool_tells_what_its_daemon_sets_request() -> None:
    config = put(*L4, "daemonSets", {"cpu": 1, "memory": "2Gi"})
    settings = parse(config, FILE)
    pool = settings.pools[1]

    capacity = for_queues(pool, settings)
    assert capacity["cpu"] == 10 * (allocatable(pool)["cpu"] - 1)
    assert capacity["memory"] == 10 * (allocatable(pool)["memory"] - 2 * GIB)


L4_QUOTAS = (*TEAM_A, "quotas", "l4")


def broken(resource: str, quota: Any, path: str, value: str, most: str, flavor: str, pool: str) -> Case:
    """Returns a stack whose only problem is this quota of team-a."""
    granted = quota if isinstance(quota, str) else str(quota)
    return Case(
        f"{resource} of {flavor}",
        put(*TEAM_A, "quotas", flavor, resource, quota),
        path,
        value,
        f"at most {most} of {resource} in all quotas of flavor {flavor}, which grant {granted}: the nodes of "
        f"pool {pool} at most, have no more for queues (GKE, plan node sizes)",
        "lower the quotas, or give the pool more or larger nodes",
    )


HERE = "muster:queues.clusterQueues[0].quotas"
BROKEN = [
    broken("cpu", 10, f"{HERE}.cpu.cpu", "10", "9.1", "cpu", "system, 3"),
    broken("memory", "39Gi", f"{HERE}.cpu.memory", '"39Gi"', "35Gi", "cpu", "system, 3"),
    broken("cpu", 36, f"{HERE}.l4.cpu", "36", "35.2", "l4", "l4, 10"),
    broken("nvidia.com/gpu", 11, f'{HERE}.l4["nvidia.com/gpu"]', "11", "10", "l4", "l4, 10"),
    broken(
        "ephemeral-storage",
        "500Gi",
        f"{HERE}.l4.ephemeral-storage",
        '"500Gi"',
        "438Gi",
        "l4",
        "l4, 10",
    ),
    broken("pods", 1000, f"{HERE}.l4.pods", "1000", "980", "l4", "l4, 10"),
]


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_quotas_beyond_the_nodes_are_refused(case: Case) -> None:
    assert refusal(case.config) == case.message


def test_quotas_of_queues_and_cohorts_count_together() -> None:
    config = put("muster:queues", "cohorts", 0, "quotas", {"l4": {"nvidia.com/gpu": 7}})

    assert "at most 10 of nvidia.com/gpu in all quotas of flavor l4, which grant 11" in refusal(config)
    assert "muster:queues.cohorts[0].quotas.l4" in refusal(config)


def test_sizes_of_nodes_in_a_cluster_elsewhere_are_not_known() -> None:
    config = put(*L4_QUOTAS, "cpu", 1000) | {"muster:cluster": EXISTING}

    assert parse(config, FILE).pools


@pytest.mark.parametrize("file", STACKS, ids=lambda file: file.name)
def test_quotas_of_the_shipped_stacks_have_nodes(file: Path) -> None:
    """Also those of the sandbox, whose simulated nodes reserve nothing."""
    settings = load(file)
    granted: Counter[tuple[str, str]] = Counter()
    for holder in holders(settings):
        for flavor, quotas in holder.quotas.items():
            for resource, quota in quotas.items():
                granted[flavor, resource] += float(amount(quota.nominal))  # type: ignore[assignment]
    nodes = {
        (pool.flavor_name, resource): pool.nodes_max * float(amount(each))
        for pool in settings.pools
        for resource, each in pool.capacity.items()
    }

    assert granted
    assert {key: total for key, total in granted.items() if total > nodes[key]} == {}
