"""Rules of Ray's heads, each with a violating and a valid stack."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from settings.load import parse
from settings.model.base import amount
from settings.rules.heads import HEAD
from tests.unit.settings.builders import EXISTING, FILE, GOOD, TEAM_A, put, refusal, with_pool
from tests.unit.settings.pools.builders import Rule, rule

EXAMPLES = Path(__file__).parents[4] / "examples"
ONLY_QUEUED = {"l4": {"cpu": 16, "memory": "64Gi", "nvidia.com/gpu": 4}}
SMALL = {"machineType": "e2-standard-4", "nodes": {"max": 4}}
SYSTEM = ("muster:pools", 0)


def with_batch_quota(cpu: int) -> dict[str, Any]:
    """Returns the valid stack with quota in the flavor of another pool of CPUs."""
    config = with_pool(SMALL)
    config["muster:queues"]["clusterQueues"][0]["quotas"]["more"] = {"cpu": cpu, "memory": "8Gi"}
    return config


def limited(bound: str, **amounts: object) -> dict[str, Any]:
    return put("muster:tenants", 0, "limits", {bound: amounts})


def beside_daemon_sets(cpu: int) -> dict[str, Any]:
    """Returns the valid stack with ten nodes for heads, on each of which DaemonSets request these CPUs."""
    system = {**GOOD["muster:pools"][0], "nodes": {"max": 10}, "daemonSets": {"cpu": cpu}}
    return put(*TEAM_A, "quotas", {"cpu": {"cpu": 1}}) | {"muster:pools": [system]}


def elsewhere(config: dict[str, Any]) -> dict[str, Any]:
    return {**config, "muster:cluster": EXISTING}


NO_ROOM = (
    "amounts for which a node has room: those of pool system, where heads run, have less for pods (GKE, plan "
    "node sizes)"
)
RULES = [
    rule(
        "a queue of queued nodes only",
        put(*TEAM_A, "quotas", ONLY_QUEUED),
        put(*TEAM_A, "quotas", {**ONLY_QUEUED, "cpu": {"cpu": 8, "memory": "32Gi"}}),
        "muster:queues.clusterQueues[0].quotas",
        '{"l4": {"cpu": 16, "memory": "64Gi", "nvidia.com/gpu": 4}}',
        "CPUs in a flavor that is not queued, for Ray's heads: these request no accelerators, without which "
        "GKE provisions no nodes (GKE, queued provisioning)",
        "add quota of `cpu` in the flavor of such a pool, such as cpu: {cpu: 8, memory: 32Gi}",
    ),
    rule(
        "nodes that DaemonSets fill",
        beside_daemon_sets(cpu=3),
        beside_daemon_sets(cpu=2),
        "muster:tenants[0].queues.user-queue",
        '"team-a"',
        "a queue with a node for a head of 1 CPU and 2Gi: those of pool system have less for pods (GKE, plan "
        "node sizes)",
        "choose a larger machine type for heads",
    ),
    rule(
        "a minimum above the nodes",
        limited("min", cpu=4),
        limited("min", cpu=3),
        "muster:tenants[0].limits.min",
        '{"cpu": 4}',
        NO_ROOM,
        "lower it, or choose a larger machine type for heads",
    ),
    rule(
        "a default above the nodes",
        limited("defaultRequest", memory="13Gi"),
        limited("defaultRequest", memory="10Gi"),
        "muster:tenants[0].limits.defaultRequest",
        '{"memory": "13Gi"}',
        NO_ROOM,
        "lower it, or choose a larger machine type for heads",
    ),
    rule(
        "heads that fit on all nodes together, but not on each",
        with_batch_quota(13),
        with_batch_quota(12),
        "muster:queues.clusterQueues[0].quotas.more.cpu",
        "13",
        "at most 12 of cpu in all quotas of flavor more: each of the 4 nodes of pool more holds 3 heads of 1 "
        "CPU (GKE, plan node sizes)",
        "lower the quotas, or give the pool more or larger nodes",
    ),
]


@pytest.mark.parametrize("case", RULES, ids=str)
def test_stack_without_nodes_for_its_heads_is_refused(case: Rule) -> None:
    assert refusal(case.broken.config) == case.broken.message


@pytest.mark.parametrize("case", RULES, ids=str)
def test_stack_with_nodes_for_its_heads_is_accepted(case: Rule) -> None:
    parse(case.valid, FILE)


@pytest.mark.parametrize(
    "config", [limited("min", cpu=4), with_batch_quota(13)], ids=["a minimum", "a quota"]
)
def test_nodes_of_a_cluster_elsewhere_are_not_known(config: dict[str, Any]) -> None:
    original = deepcopy(config)
    original.pop("muster:network", None)
    parse(elsewhere(original), FILE)


def test_queue_that_no_tenant_uses_needs_no_heads() -> None:
    config = put(*TEAM_A[:2], 1, {"name": "batch", "quotas": {"l4": {"nvidia.com/gpu": 1}}})
    assert parse(config, FILE).queues.cluster_queues[1].name == "batch"


def test_head_is_the_smallest_of_the_examples() -> None:
    heads = [
        container["resources"]["requests"]
        for path in EXAMPLES.glob("*.yaml")
        for document in yaml.safe_load_all(path.read_text())
        for spec in [document.get("spec", {})]
        for cluster in [spec.get("rayClusterSpec") or spec.get("rayClusterConfig") or spec]
        if "headGroupSpec" in cluster and not cluster.get("enableInTreeAutoscaling")  # a head that bursts
        for container in cluster["headGroupSpec"]["template"]["spec"]["containers"]
    ]
    assert {key: min(amount(str(head[key])) for head in heads) for key in HEAD} == HEAD
