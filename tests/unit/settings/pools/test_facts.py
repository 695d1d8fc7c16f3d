"""Facts of Google Cloud: what they refuse, what they only warn of, and what a stack may add."""

from datetime import date
from typing import Any

import pytest

from settings.facts.tables import FOLDER, Table, table
from settings.load import parse, warnings
from settings.model.pools.machines import MACHINES
from settings.model.regions import ZONES
from tests.unit.settings.builders import FILE, GOOD, Case, put, refusal, using, with_pool
from tests.unit.settings.pools.builders import CPU, FLEX, GPU, MORE, SLICES, V6E

TABLES = [table(file.stem) for file in sorted(FOLDER.glob("*.toml"))]
N5 = {"vcpus": 8, "memoryGib": 32}
NEW: dict[str, Any] = {
    **with_pool({**CPU, "machineType": "n5-standard-8"}),
    "muster:machineTypes": {"n5-standard-8": N5},
}


def in_region(region: str, pool: dict[str, Any], **cluster: Any) -> dict[str, Any]:
    """Returns a stack with a regional cluster there, without L4s, and with this pool in addition."""
    config = put("muster:pools", 1, {"name": "more", **pool})
    config["muster:queues"]["clusterQueues"][0]["quotas"] = {"cpu": {"cpu": 8, "memory": "32Gi"}}
    return using(config) | {
        "muster:cluster": {**GOOD["muster:cluster"], "location": region, **cluster},
        "muster:network": {"name": "ray"},
    }


def with_many(nodes: int) -> dict[str, Any]:
    """Returns the valid stack with a pool of many nodes, and a range for their pods."""
    config = with_pool({**CPU, "nodes": {"max": nodes}})
    return config | {"muster:network": {"name": "ray", "subnet": {"pods": "172.32.0.0/11"}}}


@pytest.mark.parametrize("facts", TABLES, ids=lambda facts: str(facts.name))
def test_facts_have_a_source_and_a_date(facts: Table) -> None:
    assert facts.source
    assert facts.date >= date(2025, 9, 1)


@pytest.mark.parametrize("name", ["zones", "flex_start_zones"])
def test_facts_name_zones_that_exist(name: str) -> None:
    zones = {zone for region in ZONES.values() for zone in region}
    assert {zone for listed in table(name).facts.values() for zone in listed} <= zones


@pytest.mark.parametrize("name", ["zones", "flex_start_zones", "provisioning", "boot_disks", "local_ssds"])
def test_each_prefix_is_of_a_known_machine_type(name: str) -> None:
    prefixes = set(table(name).facts) - {""}
    assert {
        prefix for prefix in prefixes if not any(f"{m}-".startswith(f"{prefix}-") for m in MACHINES)
    } == set()


def test_accelerators_are_of_known_machine_types() -> None:
    counts = table("accelerators").facts.values()
    assert {machine for machines in counts for machine in machines} <= set(MACHINES)


@pytest.mark.parametrize(
    ("machine_type", "prefix"),
    [
        ("a4-highgpu-8g", "a4"),
        ("a4x-highgpu-4g", "a4x"),
        ("a3-highgpu-1g", "a3-highgpu-1g"),
        ("e2-standard-4", None),
    ],
)
def test_longest_prefix_counts_in_whole_parts(machine_type: str, prefix: str | None) -> None:
    ways = table("provisioning")
    assert ways.of(machine_type) == (ways.facts[prefix] if prefix else None)


@pytest.mark.parametrize(
    "machine_type",
    [
        "n4-standard-8",
        "c3-standard-22",
        "c4-standard-8",
        "c4a-standard-8",
        "g4-standard-48",
        "a4x-maxgpu-4g-metal",
    ],
)
def test_machine_families_of_today_are_known(machine_type: str) -> None:
    assert machine_type in MACHINES


REFUSED = [
    Case(
        "a node range with Google's DNS",
        {**GOOD, "muster:network": {"name": "ray", "subnet": {"nodes": "8.8.0.0/20"}}},
        "muster:network.subnet.nodes",
        '"8.8.0.0/20"',
        "a range that does not overlap 8.8.4.0/24, which is for a public service of Google, such as its DNS "
        "(VPC, prohibited ranges)",
        "choose another one, such as an unused part of 10.0.0.0/8",
    ),
    Case(
        "more nodes than a zone has",
        with_many(1200),
        f"{MORE}.nodes.max",
        "1200",
        "at most 1000: a node pool has up to 1000 nodes in a zone, and this one is in 1 (GKE, quotas and "
        "limits)",
        "lower it, add zones, or split the pool",
    ),
    Case(
        "a boot disk without room for an image",
        with_pool({**CPU, "bootDisk": {"sizeGb": 10}}),
        f"{MORE}.bootDisk.sizeGb",
        "10",
        "a disk of which GKE leaves pods 10 GiB, for an image of Ray; it leaves 3.5 of this one (GKE, plan "
        "node sizes)",
        "write 30 or more, or remove it for GKE's default of 100",
    ),
    Case(
        "as many pods as DaemonSets have",
        with_pool({**CPU, "maxPodsPerNode": 8}),
        f"{MORE}.maxPodsPerNode",
        "8",
        "more than 12, the pods of DaemonSets on each node: no other pod would fit (GKE, maximum Pods per "
        "node)",
        "raise it, such as to 16, or write what the DaemonSets take in `daemonSets`",
    ),
    Case(
        "a machine type without facts",
        {**NEW, "muster:machineTypes": {}},
        f"{MORE}.machineType",
        '"n5-standard-8"',
        "a machine type known on 2026-07-01 (settings/facts), or one that muster:machineTypes describes",
        "did you mean n4-standard-8?",
    ),
    Case(
        "GPUs without a number",
        {**GOOD, "muster:machineTypes": {"n5-standard-8": {**N5, "gpuType": "nvidia-l9"}}},
        "muster:machineTypes.n5-standard-8",
        '{"vcpus": 8, "memoryGib": 32, "gpuType": "nvidia-l9"}',
        "a type and a number of accelerators, or neither",
        "add what is missing",
    ),
]


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_what_google_cloud_refuses_is_refused(case: Case) -> None:
    assert refusal(case.config) == case.message


ACCEPTED = {
    "1,000 nodes in a zone": with_many(1000),
    "a boot disk with room": with_pool({**CPU, "bootDisk": {"sizeGb": 30}}),
    "a boot disk beside local SSDs": with_pool({**CPU, "bootDisk": {"sizeGb": 10}, "localSsds": 1}),
    "room for pods": with_pool({**CPU, "maxPodsPerNode": 16}),
    "few pods of DaemonSets": with_pool(
        {**CPU, "maxPodsPerNode": 8, "daemonSets": {"cpu": 1, "memory": "1Gi", "pods": 7}}
    ),
    "a machine type of the stack": NEW,
}


@pytest.mark.parametrize("config", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_what_google_cloud_accepts_is_accepted(config: dict[str, Any]) -> None:
    assert parse(config, FILE).pools


WARNED = {
    "L4s in a region without any": (
        in_region("us-west3", GPU),
        "muster:pools[1].machineType",
        "on-demand g2-standard-4 was not known in us-west3-a or us-west3-b or us-west3-c on 2026-11-26, nor "
        "elsewhere in us-west3; `zones` of muster:machineTypes can correct this fact",
    ),
    "v6e in a zone without any": (
        in_region("us-central1", {**V6E, "zones": ["us-central1-f"]}),
        "muster:pools[1].zones",
        "on-demand ct6e-standard-4t was not known in us-central1-f on 2026-11-26, but in us-central1-ai1a, "
        "us-central1-b; `zones` of muster:machineTypes can correct this fact",
    ),
    "v6e in a zone without flex-start": (
        in_region("us-central1", {**SLICES, **FLEX, "zones": ["us-central1-b"]}),
        "muster:pools[1].zones",
        "flex-start ct6e-standard-4t was not known in us-central1-b on 2025-09-04, nor elsewhere in "
        "us-central1; `zones` of muster:machineTypes can correct this fact",
    ),
    "a version that its channel does not have yet": (
        in_region("us-central1", CPU, channel="stable", version="1.36"),
        "muster:cluster.channel",
        "channel stable offered 1.34 to 1.35 on 2026-09-17, not 1.36: GKE may refuse to create the cluster; "
        "choose another channel or version",
    ),
    "a version that its channel no longer has": (
        in_region("us-central1", CPU, channel="regular", version="1.33.5-gke.1"),
        "muster:cluster.version",
        "channel regular offered 1.34 to 1.36 on 2026-09-17, not 1.33.5-gke.1: GKE may refuse to create the "
        "cluster; choose another channel or version",
    ),
    "a machine type of the stack": (
        NEW,
        "muster:machineTypes.n5-standard-8",
        "not known on 2026-07-01: quotas and rules rely on the values given here",
    ),
}


@pytest.mark.parametrize(("config", "path", "why"), WARNED.values(), ids=WARNED.keys())
def test_what_is_not_known_is_a_warning_with_its_date(config: dict[str, Any], path: str, why: str) -> None:
    (text,) = warnings(parse(config, FILE))
    assert text.startswith(f"{path}\n")
    assert f"\n  why:    {why}\n" in text


@pytest.mark.parametrize(
    "config",
    [
        in_region("us-central1", {**V6E, "zones": ["us-central1-b"]}),
        in_region("us-central1", GPU),
        in_region("us-central1", CPU, channel="stable", version="1.35"),
    ],
    ids=["v6e in its zone", "L4s in a region", "a version of the channel"],
)
def test_what_is_known_is_no_warning(config: dict[str, Any]) -> None:
    assert warnings(parse(config, FILE)) == []


def test_pools_have_the_capacity_that_the_stack_describes() -> None:
    (pool,) = parse(NEW, FILE).pools[2:]
    assert (pool.capacity["cpu"], pool.capacity["memory"]) == ("8", "32Gi")
    assert pool.model_copy(update={"name": "other"}).machine == pool.machine


def test_stack_corrects_facts() -> None:
    zones = {"vcpus": 4, "memoryGib": 16, "gpuType": "nvidia-l4", "gpuCount": 1, "zones": ["us-west3-a"]}
    config = in_region("us-west3", GPU) | {"muster:machineTypes": {"g2-standard-4": zones}}
    assert warnings(parse(config, FILE)) == []
