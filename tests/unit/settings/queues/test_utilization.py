"""Quotas that gangs cannot use in full are a warning."""

from copy import deepcopy
from typing import Any

import pytest

from settings.load import parse, warnings
from tests.unit.settings.builders import FILE, GOOD, TEAM_A, put, using, with_pool

NODES_OF_EIGHT = {
    "machineType": "a3-highgpu-8g",
    "gpu": {"type": "nvidia-h100-80gb", "count": 8},
    "provisioning": "queued",
    "zones": ["us-central1-a"],
    "nodes": {"max": 2},
}
QUOTAS = "muster:queues.clusterQueues[0].quotas"


def l4(**quotas: Any) -> dict[str, Any]:
    """Returns the valid stack with these quotas of its pool of single GPUs."""
    return put(*TEAM_A, "quotas", "l4", quotas)


def eights(gpus: int) -> dict[str, Any]:
    """Returns a stack with this quota of GPUs on nodes that have eight of them."""
    config = with_pool(NODES_OF_EIGHT, location="us-central1")
    config["muster:pools"].pop(1)
    quotas = config["muster:queues"]["clusterQueues"][0]["quotas"]
    del quotas["l4"]
    quotas["more"] = {"cpu": 400, "memory": "3000Gi", "nvidia.com/gpu": gpus}
    return config


def two_queues(limit: int, *, lends: int) -> dict[str, Any]:
    """Returns a stack whose first queue may borrow GPUs, and whose second has some of them."""
    config = l4(**{"cpu": 16, "memory": "64Gi", "nvidia.com/gpu": {"nominal": 2, "borrowingLimit": limit}})
    second = deepcopy(config["muster:queues"]["clusterQueues"][0])
    second["name"] = "team-b"
    second["quotas"]["cpu"] = {"cpu": 1, "memory": "2Gi"}
    second["quotas"]["l4"] = {"cpu": 4, "memory": "16Gi"} | ({"nvidia.com/gpu": lends} if lends else {})
    if not lends:
        del second["quotas"]["l4"]
    config["muster:queues"]["clusterQueues"].append(second)
    config["muster:tenants"][0]["queues"]["more"] = "team-b"
    return config


WARNED: dict[str, tuple[dict[str, Any], str, str]] = {
    "GPUs with a CPU for two": (
        l4(**{"cpu": 2, "memory": "64Gi", "nvidia.com/gpu": 4}),
        f"{QUOTAS}.l4.cpu",
        "2 CPUs for 4 nvidia.com/gpu: at most 2 of them have the 1 CPU",
    ),
    "thousandths of CPUs": (
        l4(**{"cpu": "176m", "memory": "64Gi", "nvidia.com/gpu": 4}),
        f"{QUOTAS}.l4.cpu",
        "0.176 CPUs for 4 nvidia.com/gpu: at most 0 of them",
    ),
    "mebibytes in place of gibibytes": (
        l4(**{"cpu": 16, "memory": "640Mi", "nvidia.com/gpu": 4}),
        f"{QUOTAS}.l4.memory",
        "0.625 GiB for 4 nvidia.com/gpu: at most 0 of them have the 1 GiB",
    ),
    "half a node": (
        eights(4),
        f"{QUOTAS}.more.nvidia.com/gpu",
        "machines of pool more have 8, but quotas grant 4",
    ),
    "a limit of borrowing, and nothing to borrow": (
        two_queues(2, lends=0),
        f"{QUOTAS}.l4.nvidia.com/gpu.borrowingLimit",
        "no other queue or cohort of its tree has nvidia.com/gpu of flavor l4",
    ),
}


@pytest.mark.parametrize(("config", "path", "why"), WARNED.values(), ids=WARNED)
def test_quotas_that_gangs_cannot_use_are_a_warning(config: dict[str, Any], path: str, why: str) -> None:
    (text,) = relevant(config)
    assert text.replace('["', ".").replace('"]', "").startswith(f"{path}\n")
    assert f"\n  why:    {why}" in text


NOT_WARNED: dict[str, dict[str, Any]] = {
    "a CPU and a twentieth of the node's memory each": l4(**{"cpu": 4, "memory": "4Gi", "nvidia.com/gpu": 4}),
    "no GPUs": l4(**{"cpu": 1, "memory": "1Gi", "nvidia.com/gpu": 0}),
    "a whole node": eights(8),
    "GPUs to borrow": two_queues(2, lends=1),
    "no borrowing": two_queues(0, lends=0),
    "slices": using(GOOD),
}


@pytest.mark.parametrize("config", NOT_WARNED.values(), ids=NOT_WARNED)
def test_quotas_that_gangs_can_use_have_no_warning(config: dict[str, Any]) -> None:
    assert relevant(config) == []


def relevant(config: dict[str, Any]) -> list[str]:
    """Returns the warnings about quotas."""
    others = ("can use pool l4", "was not known in", "privateNodes")
    texts = warnings(parse({"muster:network": {"name": "ray"}, **config}, FILE))
    return [text for text in texts if not any(other in text for other in others)]
