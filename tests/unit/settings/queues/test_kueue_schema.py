"""Sizes that the API server accepts, each with the largest accepted and the smallest refused one."""

import json
from copy import deepcopy
from typing import Any

import pytest

from settings.load import parse
from tests.unit.settings.builders import FILE, GOOD, L4, Case, put, refusal

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


BROKEN = [
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
]


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_a_size_above_the_limit_is_refused(case: Case) -> None:
    assert refusal(case.config) == case.message


@pytest.mark.parametrize("config", [with_labels(6), with_flavors(64)], ids=["six labels", "64 flavors"])
def test_a_size_at_the_limit_is_accepted(config: dict[str, Any]) -> None:
    assert parse(config, FILE).pools
