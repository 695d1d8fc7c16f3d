"""Sizes that the API server accepts, each with the largest accepted and the smallest refused one."""

import json
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import pytest

from settings.load import parse
from tests.unit.settings.builders import FILE, GOOD, L4, Case, put, refusal

GPU = {"machineType": "g2-standard-4", "gpu": {"type": "nvidia-l4", "count": 1}}
TPU = {"machineType": "ct6e-standard-1t", "tpu": {"topology": "1x1"}}
QUEUE = "muster:queues.clusterQueues[0].quotas"
MOVE = "move quotas to another queue of the cohort"


def with_labels(count: int, **more: Any) -> dict[str, Any]:
    """Returns the valid stack with labels on its L4s, whose flavor has two others."""
    return put(*L4, "labels", {f"team-{i}": "ml" for i in range(count)}) | more


def with_flavors(count: int) -> dict[str, Any]:
    """Returns the valid stack with this number of flavors in one queue."""
    config = deepcopy(GOOD)
    quotas = config["muster:queues"]["clusterQueues"][0]["quotas"]
    for i in range(count - len(quotas)):
        pool = {"name": f"p{i}", "machineType": "e2-standard-4", "nodes": {"max": 1}}
        config["muster:pools"].append(pool)
        quotas[pool["name"]] = {"cpu": 1, "memory": "1Gi"}
    return config


def shown(config: dict[str, Any], *path: str | int) -> str:
    here: Any = config
    for part in path:
        here = here[part]
    return json.dumps(here)


def with_checks(count: int) -> dict[str, Any]:
    """Returns the valid stack with this number of checks in its queue, which has a queued pool."""
    names = [f"check-{i}" for i in range(count)]
    checks = [{"name": name, "controller": f"example.com/{name}"} for name in names]
    config = put("muster:queues", "checks", checks)
    config["muster:queues"]["clusterQueues"][0]["checks"] = {name: [] for name in names}
    return config


def with_flavors_in_groups(
    count: int, provisioning: str = "spot", check: Sequence[str] = ()
) -> dict[str, Any]:
    """Returns the valid stack with a second queue that has this number of flavors, in a group of GPUs and one
    of TPUs; no tenant uses it. `check` applies to these flavors of it."""
    config = put("muster:cluster", "location", "us-central1")
    quotas: dict[str, dict[str, int]] = {}
    for i in range(count):
        machine, resource = (GPU, "nvidia.com/gpu") if i % 2 else (TPU, "google.com/tpu")
        pool = {**machine, "name": f"p{i}", "provisioning": provisioning, "nodes": {"max": 1}}
        config["muster:pools"].append(pool)
        quotas[f"p{i}"] = {resource: 1}
    config["muster:queues"]["clusterQueues"].append({"name": "wide", "quotas": quotas})
    if check:
        config["muster:queues"]["checks"] = [{"name": "budget", "controller": "acme.example/budget"}]
        config["muster:queues"]["clusterQueues"][1]["checks"] = {"budget": list(check)}
    return config


def with_groups(*counts: int) -> dict[str, Any]:
    """Returns the valid stack with a second queue that has a group of this many flavors for each resource."""
    config = put("muster:cluster", "location", "us-central1")
    cpus = {"machineType": "e2-standard-4"}
    resources: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (GPU, {"nvidia.com/gpu": 1}),
        (TPU, {"google.com/tpu": 1}),
        (cpus, {"cpu": 1, "memory": "1Gi"}),
        (cpus, {"ephemeral-storage": "1Gi"}),
        (cpus, {"pods": 1}),
    ]
    quotas: dict[str, dict[str, Any]] = {}
    for (machine, quota), count in zip(resources, counts, strict=True):
        for _ in range(count):
            name = f"p{len(quotas)}"
            config["muster:pools"].append({**machine, "name": name, "nodes": {"max": 1}})
            quotas[name] = quota
    config["muster:queues"]["clusterQueues"].append({"name": "wide", "quotas": quotas})
    return config


def with_check(**keys: Any) -> dict[str, Any]:
    """Returns the valid stack with a check, changed by `keys`."""
    budget = {"apiGroup": "acme.example", "kind": "Budget", "name": "gpus"}
    check = {"name": "budget", "controller": "acme.example/budget", "parameters": budget}
    config = put("muster:queues", "checks", [{**check, **keys}])
    config["muster:queues"]["clusterQueues"][0]["checks"] = {"budget": []}
    return config


def parameters(**keys: str) -> dict[str, Any]:
    return with_check(parameters={"apiGroup": "acme.example", "kind": "Budget", "name": "gpus", **keys})


CONTROLLER = f"acme.example/{'c' * 241}"  # 254 characters
P65 = [f"p{i}" for i in range(65)]
WIDE = ("muster:queues", "clusterQueues", 1)
CHECKS = ("muster:queues", "clusterQueues", 0, "checks")
BROKEN = [
    Case(
        "64 checks in addition to the stack's",
        with_checks(64),
        "muster:queues.clusterQueues[0].checks",
        shown(with_checks(64), *CHECKS),
        "at most 63 checks; these are 64 (Kueue: AdmissionChecksStrategy)",
        "remove some, or let one controller decide several",
    ),
    Case(
        "a name of 64 characters for a check's parameters",
        parameters(name="n" * 64),
        "muster:queues.checks[0].parameters.name",
        f'"{"n" * 64}"',
        "a DNS label: 1 to 63 of a-z, 0-9 and '-', no '-' at either end (RFC 1123)",
        "rename it",
    ),
    Case(
        "a kind of 64 characters",
        parameters(kind="K" * 64),
        "muster:queues.checks[0].parameters.kind",
        f'"{"K" * 64}"',
        "a kind of the API, in CamelCase, up to 63 characters",
        "write it as in its manifests, such as Budget",
    ),
    Case(
        "a controller of 254 characters",
        with_check(controller=CONTROLLER),
        "muster:queues.checks[0].controller",
        f'"{CONTROLLER}"',
        "the name of a controller: a domain, '/' and a path, up to 253 characters (Kueue: "
        "AdmissionCheckSpec.controllerName)",
        "write it as its controller expects it, such as example.com/budget",
    ),
    Case(
        "seven labels in addition to two",
        with_labels(7),
        "muster:pools[1].labels",
        shown(with_labels(7), *L4, "labels"),
        "at most 6 labels: with 2 others, by which the flavor selects the nodes, a ResourceFlavor has at "
        "most 8 (Kueue: ResourceFlavorSpec)",
        "remove labels that no pod selects; cost labels belong to `muster:cluster.labels`",
    ),
    Case(
        "65 flavors",
        with_flavors(65),
        QUEUE,
        shown(with_flavors(65), "muster:queues", "clusterQueues", 0, "quotas"),
        "at most 64 flavors that share resources; these are 65 (Kueue: ResourceGroup)",
        MOVE,
    ),
    Case(
        "257 flavors in five groups",
        with_groups(64, 64, 64, 64, 1),
        "muster:queues.clusterQueues[1].quotas",
        shown(with_groups(64, 64, 64, 64, 1), *WIDE, "quotas"),
        "at most 256 flavors; these are 257 (Kueue: ClusterQueueSpec)",
        MOVE,
    ),
    Case(
        "65 flavors of queued pools, in two groups",
        with_flavors_in_groups(65, "queued"),
        "muster:queues.clusterQueues[1].quotas",
        shown(with_flavors_in_groups(65, "queued"), *WIDE, "quotas"),
        "at most 64 flavors of queued pools, to which one check applies; these are 65 (Kueue: "
        "AdmissionCheckStrategyRule)",
        MOVE,
    ),
    Case(
        "a check on 65 flavors",
        with_flavors_in_groups(65, check=P65),
        "muster:queues.clusterQueues[1].checks.budget",
        json.dumps(P65),
        "at most 64 flavors; these are 65 (Kueue: AdmissionCheckStrategyRule)",
        f"write [] if the check applies to all, or {MOVE}",
    ),
]


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_a_size_above_the_limit_is_refused(case: Case) -> None:
    assert refusal(case.config) == case.message


KEPT = {
    "six labels": with_labels(6),
    "64 flavors": with_flavors(64),
    "63 checks": with_checks(63),
    "64 flavors of queued pools": with_flavors_in_groups(64, "queued"),
    "a check on 64 of 65 flavors": with_flavors_in_groups(65, check=P65[:64]),
    "63 characters of a name": parameters(name="n" * 63),
    "63 characters of a kind": parameters(kind="K" * 63),
    "253 characters of a controller": with_check(controller=CONTROLLER[:-1]),
}


@pytest.mark.parametrize("config", KEPT.values(), ids=list(KEPT))
def test_a_size_at_the_limit_is_accepted(config: dict[str, Any]) -> None:
    assert parse(config, FILE).pools
