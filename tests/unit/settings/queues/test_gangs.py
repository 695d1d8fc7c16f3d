"""The proof that gangs run: quotas under which none ever does, and those under which they run badly."""

from typing import Any

import pytest

from settings.load import parse, warnings
from tests.unit.settings.builders import EXISTING, FILE, GOOD, TEAM_A, Case, put, refusal, using, with_pool
from tests.unit.settings.pools.builders import GPU, SLICES

QUOTAS = "muster:queues.clusterQueues[0].quotas"
HEADS = {"cpu": 8, "memory": "32Gi"}
ONE_POD = "1 pod of 100m cpu, 128Mi memory, 1 nvidia.com/gpu each"
CHANGE = "raise the quotas or what the cohort lends, or remove the flavor from this queue"
ALONE = "quotas that admit a gang in an empty cluster; the smallest one for pool"


def with_quotas(**quotas: Any) -> dict[str, Any]:
    return put(*TEAM_A, "quotas", quotas)


def with_slices(chips: int, **more: Any) -> dict[str, Any]:
    """Returns a stack with quota of this many TPU chips, of slices with 16, and CPUs for their machines."""
    tpu = {**SLICES, "provisioning": "reserved", "reservation": "tpus", "zones": ["us-central1-b"], **more}
    config = with_pool(tpu, location="us-central1")
    quotas = {
        "cpu": {"cpu": 4, "memory": "16Gi"},
        "l4": {"cpu": 4, "memory": "16Gi", "nvidia.com/gpu": 1},
        "more": {"cpu": 700, "memory": "2000Gi", "google.com/tpu": chips},
    }
    config["muster:queues"] = {"clusterQueues": [{"name": "team-a", "quotas": quotas}]}
    return config


REFUSED = [
    Case(
        "GPUs whose CPUs are of another flavor",
        with_quotas(cpu=HEADS, l4={"nvidia.com/gpu": 4}),
        f"{QUOTAS}.l4",
        '{"nvidia.com/gpu": 4}',
        "quota of cpu and memory in this flavor too: pods would get theirs from flavor cpu, whose nodes are "
        "not those of pool l4, so no gang ever starts (Kueue: resourceGroups)",
        "add `cpu` and `memory`",
    ),
    Case(
        "GPUs without memory",
        with_quotas(cpu=HEADS, l4={"nvidia.com/gpu": 4, "cpu": 16}),
        f"{QUOTAS}.l4",
        '{"nvidia.com/gpu": 4, "cpu": 16}',
        f"{ALONE} l4, {ONE_POD}, is never admitted: pod set workers requests memory, for which ClusterQueue "
        "team-a has no quota",
        CHANGE,
    ),
    Case(
        "fewer chips than a slice has",
        with_slices(12),
        f"{QUOTAS}.more",
        '{"cpu": 700, "memory": "2000Gi", "google.com/tpu": 12}',
        f"{ALONE} more, 4 pods of 100m cpu, 128Mi memory, 4 google.com/tpu each, is never admitted: needs 16 "
        "google.com/tpu of flavor more but ClusterQueue team-a can have at most 12: request less, or raise "
        "its quota",
        CHANGE,
    ),
]


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_quotas_under_which_no_gang_runs_are_refused(case: Case) -> None:
    assert refusal(case.config) == case.message


def lent(limit: Any) -> dict[str, Any]:
    """Returns a stack whose first queue has no GPUs of its own, and whose second lends some of its four."""
    gpus = {"nominal": 4} | ({} if limit is None else {"lendingLimit": limit})
    of_team_b = {
        "cpu": {"cpu": 1, "memory": "4Gi"},
        "l4": {"cpu": 8, "memory": "32Gi", "nvidia.com/gpu": gpus},
    }
    config = with_quotas(
        cpu={"cpu": 1, "memory": "4Gi"}, l4={"cpu": 8, "memory": "32Gi", "nvidia.com/gpu": 0}
    )
    config["muster:queues"]["clusterQueues"].append({"name": "team-b", "cohort": "ml", "quotas": of_team_b})
    return config


def test_borrowed_quota_lets_a_gang_run() -> None:
    assert parse(lent(None), FILE).queues.cluster_queues
    assert any("no gang of queue team-a can use pool l4" in text for text in warnings(parse(lent(0), FILE)))


def test_a_stopped_queue_is_proven_too() -> None:
    assert parse(put(*TEAM_A, "stop", "HoldAndDrain"), FILE).queues.cluster_queues


EQUAL = {"engine": "muster", "priorities": {"all": 1}}
SPOT_ONLY = {
    "muster:pools": [
        GOOD["muster:pools"][0],
        {"name": "spot", "machineType": "e2-standard-8", "provisioning": "spot", "nodes": {"max": 4}},
    ],
    "muster:queues": {
        "clusterQueues": [{"name": "team-a", "quotas": {"spot": {"cpu": 4, "memory": "16Gi"}}}]
    },
}
WARNED = {
    "no GPUs, and none to borrow": (
        with_quotas(cpu=HEADS, l4={"cpu": 16, "memory": "64Gi", "nvidia.com/gpu": 0}),
        f"{QUOTAS}.l4",
        "no gang of queue team-a can use pool l4: the quota of its devices is 0, and no cohort lends any",
    ),
    "more GPUs than the nodes of a cluster elsewhere have": (
        with_quotas(cpu=HEADS, l4={"cpu": 16, "memory": "64Gi", "nvidia.com/gpu": 12})
        | {"muster:cluster": EXISTING},
        f"{QUOTAS}.l4.nvidia.com/gpu",
        "expected at most 10 of nvidia.com/gpu in all quotas of flavor l4, which grant 12",
    ),
    "a quota of one and a half slices": (
        with_slices(24),
        f"{QUOTAS}.more.google.com/tpu",
        "slices of pool more have 16 chips: 8 of these can be used only together with borrowed ones",
    ),
    "preemption of lower priorities among equal ones": (
        put("muster:admission", EQUAL),
        "muster:queues.clusterQueues[0].preemption.withinClusterQueue",
        "all gangs have the same priority",
    ),
    "nodes that end before their requests": (
        put("muster:pools", 1, "maxRunSeconds", 3600),
        "muster:pools[1].maxRunSeconds",
        "requests for these nodes are for 604800 seconds",
    ),
    "flex-start nodes with waitForPodsReady": (
        using(with_pool({**GPU, "provisioning": "flex-start"}))
        | {"muster:controller": {**GOOD["muster:controller"], "waitForPodsReady": {"timeoutSeconds": 300}}},
        "muster:pools[2].provisioning",
        "flex-start nodes may take hours, but muster:controller.waitForPodsReady evicts a gang whose pods "
        "are not ready after 300 seconds",
    ),
    "heads on spot nodes only": (
        {**GOOD, **SPOT_ONLY, "muster:network": {"name": "ray"}},
        QUOTAS,
        "Ray's heads get their CPUs from spot nodes only",
    ),
}


@pytest.mark.parametrize(("config", "path", "why"), WARNED.values(), ids=WARNED.keys())
def test_gangs_that_run_badly_are_a_warning(config: dict[str, Any], path: str, why: str) -> None:
    texts = [text for text in warnings(parse(config, FILE)) if "privateNodes" not in text]
    (text,) = (text for text in texts if "was not known in" not in text)
    assert text.replace('["', ".").replace('"]', "").startswith(f"{path}\n")
    assert f"\n  why:    {why}" in text


def test_valid_stack_has_no_warnings_about_gangs() -> None:
    assert len(warnings(parse({**GOOD, "muster:network": {"name": "ray"}}, FILE))) == 0
