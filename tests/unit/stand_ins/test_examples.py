"""The examples meet the requirements on queued manifests in examples/README.md, and bring all they need."""

import ast
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from muster.cluster.jobs.kinds import BY_KIND, kind_of
from muster.live.observed import viewed
from muster.objects.names import PRIORITY_LABEL, SHRINKS_ANNOTATION
from sandbox.scenarios.gangs import cluster_spec
from sandbox.scenarios.jobs import JOBS
from sandbox.scenarios.milestones import Scenario
from sandbox.scenarios.serving import serving
from settings.load import load

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "examples").glob("*.ray*.yaml"))
OTHERS = sorted(
    file
    for kind in ("job", "jobset", "leaderworkerset")
    for file in (ROOT / "examples").glob(f"*.{kind}.yaml")
)
UNQUEUED = sorted((ROOT / "examples" / "unqueued").glob("*.yaml"))
SHRINKS_AT = {
    "path": "shrinks-at",
    "fieldRef": {"fieldPath": f"metadata.annotations['{SHRINKS_ANNOTATION}']"},
}
SETTINGS = load(ROOT / "stacks" / "Pulumi.local.yaml")


def manifests(file: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(file.read_text()))


def manifest(file: Path) -> dict[str, Any]:
    """Returns the example's Ray object."""
    (matches,) = (m for m in manifests(file) if m["apiVersion"] == "ray.io/v1")
    return matches


def named(file: Path, kind: str) -> dict[str, dict[str, Any]]:
    return {m["metadata"]["name"]: m for m in manifests(file) if m["kind"] == kind}


def pod_specs(example: dict[str, Any]) -> Iterator[dict[str, Any]]:
    spec = cluster_spec(example)
    for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"]):
        yield group["template"]["spec"]


def containers(example: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for spec in pod_specs(example):
        yield from spec["containers"]


def mounted_files(file: Path) -> dict[str, str]:
    """Returns the content of every file that ConfigMaps of the example bring into its head, by path."""
    files_by_path, config_maps = {}, named(file, "ConfigMap")
    head = next(pod_specs(manifest(file)))
    volumes = {v["name"]: v["configMap"]["name"] for v in head.get("volumes", ()) if "configMap" in v}
    for mount in head["containers"][0].get("volumeMounts", ()):
        if mount["name"] in volumes:
            for key, text in config_maps[volumes[mount["name"]]]["data"].items():
                files_by_path[f"{mount['mountPath']}/{key}"] = text
    return files_by_path


def check_queue(example: dict[str, Any], pods: Iterable[dict[str, Any]]) -> None:
    """Checks the labels, and the requests of these containers."""
    labels, namespace = example["metadata"]["labels"], example["metadata"]["namespace"]
    tenant = next(t for t in SETTINGS.tenants if t.namespace == namespace)
    assert labels["kueue.x-k8s.io/queue-name"] in tenant.queues
    assert labels["kueue.x-k8s.io/priority-class"] in SETTINGS.admission.priorities
    for container in pods:
        assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
        requests, limits = (container["resources"][key] for key in ("requests", "limits"))
        assert requests.keys() == limits.keys()
        # A container may use CPU beyond its request while others leave it; memory cannot be taken back.
        assert {**requests, "cpu": ""} == {**limits, "cpu": ""}
    assert "suspend" not in example["spec"]


@pytest.mark.parametrize("file", OTHERS, ids=lambda f: f.name)
def test_every_other_job_can_be_queued(file: Path) -> None:
    (example,) = manifests(file)
    kind = kind_of(example)
    assert kind is not None
    job = BY_KIND[kind].view(viewed(kind, {**example, "metadata": {**example["metadata"], "name": "e"}}))
    assert job.ineligibility is None
    templates = [msgspec.json.decode(entry.template)["spec"] for entry in job.pod_set_templates]
    check_queue(example, [container for spec in templates for container in spec["containers"]])


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
def test_every_example_can_be_queued(file: Path) -> None:
    example = manifest(file)
    check_queue(example, containers(example))
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


@pytest.mark.parametrize("file", [*FILES, *UNQUEUED], ids=lambda f: f.name)
def test_images_have_the_tag_of_their_ray_version(file: Path) -> None:
    example = manifest(file)
    version = re.escape(cluster_spec(example)["rayVersion"])
    for container in containers(example):
        assert re.fullmatch(rf"rayproject/ray(-llm)?:{version}-py311\S*", container["image"])


@pytest.mark.parametrize("file", [f for f in FILES if "rayjob" in f.name], ids=lambda f: f.name)
def test_every_entrypoint_is_a_program_that_the_example_brings(file: Path) -> None:
    command, *arguments = shlex.split(manifest(file)["spec"]["entrypoint"])
    assert command == "python"
    inline = arguments[0] == "-c"
    program = arguments[1] if inline else mounted_files(file)[arguments[0]]
    ast.parse(program)
    # The submitter's shell and Ray's both read an inline program, in double quotes.
    assert not (inline and re.search(r'["$`\\]', program))


@pytest.mark.parametrize("file", [*FILES, *UNQUEUED], ids=lambda f: f.name)
def test_every_volume_is_of_an_object_that_the_example_brings(file: Path) -> None:
    sources: dict[str, Callable[[dict[str, Any]], bool]] = {
        "configMap": lambda volume: volume["configMap"]["name"] in named(file, "ConfigMap"),
        "persistentVolumeClaim": lambda volume: (
            volume["persistentVolumeClaim"]["claimName"] in named(file, "PersistentVolumeClaim")
        ),
        "downwardAPI": lambda volume: volume["downwardAPI"]["items"] == [SHRINKS_AT],  # of the pod itself
    }
    namespaces = {m["metadata"]["namespace"] for m in manifests(file)}
    assert len(namespaces) == 1
    for spec in pod_specs(manifest(file)):
        for volume in spec.get("volumes", ()):
            (source,) = volume.keys() - {"name"}
            assert sources[source](volume)


@pytest.mark.parametrize("file", UNQUEUED, ids=lambda f: f.name)
def test_examples_that_gangs_do_not_support_are_unqueued(file: Path) -> None:
    metadata = manifest(file)["metadata"]
    assert "labels" not in metadata
    tenant = next(t for t in SETTINGS.tenants if t.namespace == metadata["namespace"])
    assert not tenant.queue_required


@pytest.mark.parametrize("file", [*FILES, *OTHERS, *UNQUEUED], ids=lambda f: f.name)
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
