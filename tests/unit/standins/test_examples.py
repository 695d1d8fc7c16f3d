"""The examples have what queueing asks of a manifest, as examples/README.md tells users."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.scenario import DEV, PROD
from stacks.settings import load

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "examples").glob("*.yaml"))
SETTINGS = load(ROOT / "stacks" / "Pulumi.local.yaml")


def manifest(file: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(file.read_text())
    return loaded


def cluster_spec(example: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = example["spec"]
    return spec["rayClusterSpec"] if example["kind"] == "RayJob" else spec


def containers(example: dict[str, Any]) -> Iterator[dict[str, Any]]:
    spec = cluster_spec(example)
    for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"]):
        yield from group["template"]["spec"]["containers"]


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
def test_every_example_can_be_queued(file: Path) -> None:
    example = manifest(file)
    labels, namespace = example["metadata"]["labels"], example["metadata"]["namespace"]
    tenant = next(t for t in SETTINGS.tenants if t.namespace == namespace)
    assert labels["kueue.x-k8s.io/queue-name"] in tenant.queues
    assert labels["kueue.x-k8s.io/priority-class"] in SETTINGS.admission.priorities
    for container in containers(example):
        assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
        assert container["resources"]["requests"] == container["resources"]["limits"]
    if example["kind"] == "RayJob":
        assert example["spec"]["shutdownAfterJobFinishes"] is True
    assert "suspend" not in example["spec"]


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
def test_every_example_is_in_the_readme(file: Path) -> None:
    assert f"({file.name})" in (ROOT / "examples" / "README.md").read_text()


def test_the_two_jobs_of_the_scenario_do_not_fit_beside_each_other() -> None:
    gpus = 0
    for name in (DEV, PROD):
        group = cluster_spec(manifest(ROOT / "examples" / name))["workerGroupSpecs"][0]
        limits = group["template"]["spec"]["containers"][0]["resources"]["limits"]
        gpus += group["replicas"] * int(limits["nvidia.com/gpu"])
    queue = next(q for q in SETTINGS.queues.cluster_queues if q.name == "team-a")
    assert gpus > int(queue.quotas["l4"]["nvidia.com/gpu"].nominal)
