"""The examples meet the requirements on queued manifests in examples/README.md."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.scenarios.fit import PRIORITY_LABEL
from sandbox.scenarios.gangs import cluster_spec
from sandbox.scenarios.jobs import JOBS
from sandbox.scenarios.milestones import Scenario
from sandbox.scenarios.serving import serving
from settings.load import load

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "examples").glob("*.yaml"))
UNQUEUED = sorted((ROOT / "examples" / "unqueued").glob("*.yaml"))
SETTINGS = load(ROOT / "stacks" / "Pulumi.local.yaml")


def manifest(file: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(file.read_text())
    return loaded


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
    if example["kind"] == "RayService":
        assert example["spec"]["upgradeStrategy"] == {"type": "None"}
    assert "suspend" not in {**example["spec"], **cluster_spec(example)}


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
def test_examples_require_a_token_if_their_ray_supports_it(file: Path) -> None:
    spec = cluster_spec(manifest(file))
    can = tuple(map(int, spec["rayVersion"].split("."))) >= (2, 52)
    assert spec.get("authOptions") == ({"mode": "token"} if can else None)


@pytest.mark.parametrize("file", UNQUEUED, ids=lambda f: f.name)
def test_examples_that_gangs_do_not_support_are_unqueued(file: Path) -> None:
    metadata = manifest(file)["metadata"]
    assert "labels" not in metadata
    tenant = next(t for t in SETTINGS.tenants if t.namespace == metadata["namespace"])
    assert not tenant.queue_required


@pytest.mark.parametrize("file", [*FILES, *UNQUEUED], ids=lambda f: f.name)
def test_every_example_is_in_the_readme(file: Path) -> None:
    name = file.relative_to(ROOT / "examples")
    assert f"({name})" in (ROOT / "examples" / "README.md").read_text()


@pytest.mark.parametrize("scenario", [JOBS, serving("muster")], ids=lambda s: s.name)
def test_gangs_of_a_scenario_do_not_fit_at_the_same_time(scenario: Scenario) -> None:
    gpus, values = 0, []
    for name in scenario.examples.values():
        example = manifest(ROOT / "examples" / name)
        values.append(SETTINGS.admission.priorities[example["metadata"]["labels"][PRIORITY_LABEL]])
        group = cluster_spec(example)["workerGroupSpecs"][0]
        limits = group["template"]["spec"]["containers"][0]["resources"]["limits"]
        gpus += group["replicas"] * int(limits["nvidia.com/gpu"])
    queue = next(q for q in SETTINGS.queues.cluster_queues if q.name == "team-a")
    assert gpus > int(queue.quotas["l4"]["nvidia.com/gpu"].nominal)
    assert values[0] < values[1]
