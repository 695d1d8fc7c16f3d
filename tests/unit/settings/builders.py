"""A valid stack, and functions that change it."""

from copy import deepcopy
from math import prod
from typing import Any, NamedTuple

import pytest

from settings.load import SettingsError, parse

GOOD: dict[str, Any] = {
    "gcp:project": "acme-ml",
    "muster:cluster": {"kind": "gke", "name": "ray", "location": "us-west1-b"},
    "muster:controller": {"image": "registry.example/muster/controller:0.1.0"},
    "muster:pools": [
        {"name": "system", "flavor": "cpu", "machineType": "e2-standard-4", "nodes": {"min": 1, "max": 3}},
        {
            "name": "l4",
            "machineType": "g2-standard-4",
            "gpu": {"type": "nvidia-l4", "count": 1},
            "provisioning": "queued",
            "nodes": {"max": 10},
        },
    ],
    "muster:admission": {"engine": "muster", "priorities": {"prod-priority": 1000, "dev-priority": 100}},
    "muster:queues": {
        "cohorts": [{"name": "ml"}],
        "clusterQueues": [
            {
                "name": "team-a",
                "cohort": "ml",
                "quotas": {
                    "cpu": {"cpu": 8, "memory": "32Gi"},
                    "l4": {
                        "cpu": 16,
                        "memory": "64Gi",
                        "nvidia.com/gpu": {"nominal": 4, "borrowingLimit": 0},
                    },
                },
                "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
            }
        ],
    },
    "muster:tenants": [{"namespace": "team-a", "queues": {"user-queue": "team-a"}}],
}

Path = tuple[str | int, ...]
TEAM_A: Path = ("muster:queues", "clusterQueues", 0)
L4: Path = ("muster:pools", 1)


def put(*path_and_value: Any) -> dict[str, Any]:
    """Returns the valid stack with one value set at a path; `None` removes the key."""
    *path, last, value = path_and_value
    config = deepcopy(GOOD)
    here: Any = config
    for part in path:
        here = here[part]
    if value is None:
        del here[last]
    elif isinstance(here, list) and last == len(here):
        here.append(value)
    else:
        here[last] = value
    return config


def section(key: str, **values: Any) -> dict[str, Any]:
    """Returns the valid stack with these keys added to a section."""
    return {**GOOD, key: {**GOOD.get(key, {}), **values}}


def tenant(**values: Any) -> dict[str, Any]:
    """Returns the valid stack with these keys added to its tenant."""
    return put("muster:tenants", 0, {**GOOD["muster:tenants"][0], **values})


def with_kueue(**values: Any) -> dict[str, Any]:
    """Returns the valid stack with engine kueue and these keys of its section."""
    config = {key: value for key, value in GOOD.items() if key != "muster:controller"}
    return {**config, "muster:admission": {"engine": "kueue"}, "muster:kueue": values}


def with_pool(pool: dict[str, Any], **cluster: Any) -> dict[str, Any]:
    """Returns the valid stack with another pool, named `more`, and with these keys in its cluster."""
    config = put("muster:pools", 2, {"name": "more", **pool})
    return config | {
        "muster:cluster": {**GOOD["muster:cluster"], **cluster},
        "muster:network": {"name": "ray"},
    }


def using(config: dict[str, Any]) -> dict[str, Any]:
    """Returns the stack with a quota of each accelerated pool that team-a has none of: a slice or a node."""
    config = deepcopy(config)
    quotas = config["muster:queues"]["clusterQueues"][0]["quotas"]
    for pool in config["muster:pools"]:
        if "gpu" in pool:
            device, count = "nvidia.com/gpu", pool["gpu"]["count"]
        elif "tpu" in pool:
            device, count = "google.com/tpu", prod(map(int, pool["tpu"]["topology"].split("x")))
        else:
            continue
        quotas.setdefault(pool["name"], {"cpu": 3 * count, "memory": f"{12 * count}Gi", device: count})
    return config


def with_engine(name: str) -> dict[str, Any]:
    """Returns the valid stack with another engine; KAI supports no queued pools, so theirs are on-demand."""
    config = put("muster:admission", "engine", name)
    if name == "kai":
        config["muster:pools"][1]["provisioning"] = "on-demand"
    return config


GPU_HOURS = {"resource": "nvidia.com/gpu", "hours": 100, "period": "month"}
SYSTEM: dict[str, Any] = GOOD["muster:pools"][0]
CPU_BATCH = {
    "name": "batch",
    "machineType": "e2-standard-4",
    "provisioning": "queued",
    "nodes": {"max": 2},
}
CIRCLE = [{"name": "ml", "parent": "org"}, {"name": "org", "parent": "ml"}]
EXISTING = {"kind": "existing", "name": "sandbox"}
ONLY_L4 = {"clusterQueues": [{"name": "team-a", "quotas": {"l4": {"nvidia.com/gpu": 1}}}]}

FILE = "stacks/Pulumi.test.yaml"


class Case(NamedTuple):
    """An invalid stack, and the parts of its only problem."""

    name: str
    config: dict[str, Any]
    path: str
    value: str
    expected: str
    remedy: str

    def __str__(self) -> str:
        return self.name

    @property
    def message(self) -> str:
        return (
            f"{FILE}: 1 problem in the settings; nothing was deployed.\n\n"
            f"{self.path}\n  given:    {self.value}\n  expected: {self.expected}\n  do:       {self.remedy}"
        )


def refusal(config: dict[str, Any]) -> str:
    """Returns the error message for an invalid stack."""
    with pytest.raises(SettingsError) as refused:
        parse(config, FILE)
    return str(refused.value)
