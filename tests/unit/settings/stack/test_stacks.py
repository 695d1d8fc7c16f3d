"""Valid stacks: their parsed settings, and the stack files of this repository."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pulumi.runtime
import pytest
import yaml
from pulumi.runtime.config import CONFIG
from pydantic import ValidationError

from components.program import from_config
from settings.load import SettingsError, load, parse
from settings.model.foundation.cluster import Gke
from settings.model.foundation.existing import Existing
from settings.model.pools.pool import Taint
from settings.model.queues.queue import ClusterQueue
from tests.unit.settings.builders import FILE, GOOD, L4, put

STACKS = Path(__file__).parents[4] / "stacks"


@pytest.mark.parametrize("file", sorted(STACKS.glob("Pulumi.*.yaml")), ids=lambda file: file.name)
def test_every_stack_file_loads(file: Path) -> None:
    assert load(file).pools


def test_stack_local_matches_the_sandbox() -> None:
    local = load(STACKS / "Pulumi.local.yaml")

    assert isinstance(local.cluster, Existing)
    assert [(pool.name, pool.flavor_name) for pool in local.pools] == [("system", "cpu"), ("l4", "l4")]
    assert local.queued_flavors == ("l4",)
    assert sorted(local.admission.priorities.items(), key=lambda named: -named[1]) == [
        ("inference", 2000),
        ("prod-priority", 1000),
        ("training", 500),
        ("dev-priority", 100),
    ]
    assert {tenant.namespace: tenant.queues for tenant in local.tenants} == {
        "team-a": {"user-queue": "team-a"},
        "team-b": {"user-queue": "team-b"},
    }


def test_queued_gpu_pool_has_the_labels_and_taints_of_gke() -> None:
    pool = parse(GOOD, FILE).pools[1]

    assert pool.queued
    assert pool.node_labels == {
        "cloud.google.com/gke-nodepool": "l4",
        "cloud.google.com/gke-accelerator": "nvidia-l4",
    }
    assert pool.node_taints == (
        Taint("nvidia.com/gpu", "present", "NoSchedule"),
        Taint("cloud.google.com/gke-queued", "true", "NoSchedule"),
    )
    assert pool.declared_taints == ()
    assert pool.capacity == {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1", "pods": "110"}


def test_spot_pool_declares_its_taint() -> None:
    pool = parse(put(*L4, "provisioning", "spot"), FILE).pools[1]

    spot = Taint("cloud.google.com/gke-spot", "true", "NoSchedule")
    assert pool.declared_taints == (spot,)
    assert pool.node_taints == (Taint("nvidia.com/gpu", "present", "NoSchedule"), spot)
    assert pool.node_labels["cloud.google.com/gke-spot"] == "true"


@pytest.mark.parametrize(
    ("location", "regional"), [("us-west1-b", False), ("us-west1", True), ("northamerica-northeast1", True)]
)
def test_a_cluster_in_a_region_is_regional(location: str, regional: bool) -> None:
    cluster = parse(put("muster:cluster", "location", location), FILE).cluster

    assert isinstance(cluster, Gke)
    assert cluster.place.regional is regional


# Case -> quotas by flavor, and Kueue's groups as (covered resources, {flavor: nominal quotas in that order}).
GROUPS: dict[str, tuple[dict[str, Any], list[tuple[str, dict[str, str]]]]] = {
    "flavors that share a resource are one group, filled with zeros": (
        {"cpu": {"cpu": 8, "memory": "32Gi"}, "l4": {"cpu": 16, "memory": "64Gi", "nvidia.com/gpu": 4}},
        [("cpu memory nvidia.com/gpu", {"cpu": "8 32Gi 0", "l4": "16 64Gi 4"})],
    ),
    "flavors that share no resource are separate groups": (
        {"cpu": {"cpu": 8}, "l4": {"nvidia.com/gpu": 4}},
        [("cpu", {"cpu": "8"}), ("nvidia.com/gpu", {"l4": "4"})],
    ),
    "a flavor that shares with two groups joins them, in the order given": (
        {"cpu": {"cpu": 8}, "l4": {"nvidia.com/gpu": 4}, "big": {"nvidia.com/gpu": 1, "cpu": 2}},
        [("cpu nvidia.com/gpu", {"cpu": "8 0", "l4": "0 4", "big": "2 1"})],
    ),
}


@pytest.mark.parametrize(("quotas", "groups"), GROUPS.values(), ids=GROUPS.keys())
def test_quotas_by_flavor_become_resource_groups(
    quotas: dict[str, Any], groups: list[tuple[str, dict[str, str]]]
) -> None:
    queue = ClusterQueue.model_validate({"name": "team-a", "quotas": quotas})

    assert [
        (
            " ".join(group.covered),
            {name: " ".join(quota.nominal for quota in quotas.values()) for name, quotas in group.flavors},
        )
        for group in queue.resource_groups
    ] == groups


def test_all_problems_are_reported_at_once() -> None:
    config = put(*L4, "nodes", "max", "10") | {"muster:tenant": []}

    with pytest.raises(SettingsError) as refused:
        parse(config, FILE)

    assert [problem.path for problem in refused.value.problems] == [
        "muster:pools[1].nodes.max",
        "muster:tenant",
    ]
    assert str(refused.value).startswith(f"{FILE}: 2 problems in the settings; nothing was deployed.\n\n")


def test_keys_of_other_packages_are_ignored() -> None:
    assert parse({**GOOD, "gcp:region": "us-west1", "pulumi:tags": {}}, FILE) == parse(GOOD, FILE)


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        parse(GOOD, FILE).pools[0].name = "other"


# 9 to the power of 8: half a kilobyte that takes gigabytes as JSON.
EXPANDING = "config:\n  a0: &a0 [x]\n" + "".join(
    f"  a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9)
)
UNREADABLE = {
    "no such file": (None, "a stack file"),
    "no YAML": ("config: [", "valid YAML"),
    "no text": (b"\xff", "valid YAML"),
    "a key twice": ("config:\n  muster:pools: []\n  muster:pools: []", "valid YAML"),
    "a list as a key": ("config: {[muster]: 1}", "valid YAML"),
    "a list in itself": ("config: {muster:pools: &pools [*pools]}", "valid YAML"),
    "aliases that expand": (EXPANDING, "valid YAML"),
    "a tag that calls a function": ("config: !!python/object/apply:os.getcwd []", "valid YAML"),
    "deeply nested": ("config: " + "[" * 20_000 + "]" * 20_000, "valid YAML"),
    "a hundred lists in each other": (f"config: {'[' * 200}", "valid YAML"),
    "no mapping": ("- 1", "a mapping with the key `config`"),
    "no config": ("encryptionsalt: x", "a mapping with the key `config`"),
}


@pytest.mark.parametrize(("content", "expected"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_unreadable_file_is_an_error(content: str | bytes | None, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.x.yaml"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())

    with pytest.raises(SettingsError) as refused:
        load(file)

    (problem,) = refused.value.problems
    assert (problem.file, problem.path, problem.expected) == (str(file), "", expected)


def test_a_file_that_does_not_end_is_not_read(tmp_path: Path) -> None:
    pipe = tmp_path / "Pulumi.x.yaml"
    os.mkfifo(pipe)

    with pytest.raises(SettingsError, match="a stack file"):
        load(pipe)


def test_keys_of_a_file_are_text_and_may_be_merged(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.x.yaml"
    config = {key: value for key, value in GOOD.items() if key != "muster:admission"}
    priorities = "{on: 10, 2: 20, <<: &shared {2: 0, 2026-01-01: 30}}"
    admission = f"  muster:admission: {{engine: muster, priorities: {priorities}}}\n"
    file.write_text(yaml.safe_dump({"config": config}) + admission)

    assert load(file).admission.priorities == {"2": 20, "2026-01-01": 30, "on": 10}


@pytest.fixture
def running_program() -> Iterator[dict[str, Any]]:
    """The valid stack as Pulumi passes it to a program: objects as JSON, plain values as text."""
    before = CONFIG.get()
    config = {key: value if isinstance(value, str) else json.dumps(value) for key, value in GOOD.items()}
    yield config
    pulumi.runtime.set_all_config(before)


def test_running_program_reads_the_same_settings(running_program: dict[str, str]) -> None:
    pulumi.runtime.set_all_config(running_program)

    assert from_config() == (parse(GOOD, FILE), None)


def test_running_program_refuses_the_same_keys(running_program: dict[str, str]) -> None:
    pulumi.runtime.set_all_config({**running_program, "muster:cost": "{}"})

    with pytest.raises(SettingsError, match=r"(?s)muster:cost\n.*a known key"):
        from_config()
