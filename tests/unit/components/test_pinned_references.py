"""Images, charts and manifests that stacks, examples and Dockerfiles name: by content, or excepted here."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.unit.components.harness import Declarations, declare_platform, declare_stack
from tests.unit.settings.builders import put, with_engine, with_pool
from tests.unit.settings.pools.builders import GPUDIRECT_H100

CHECKOUT = Path(__file__).parents[3]
STACKS = sorted((CHECKOUT / "stacks").glob("Pulumi.*.yaml"))
BY_CONTENT = re.compile(r"@sha256:[0-9a-f]{64}$|/[0-9a-f]{40}/")
DOCKERFILES = ("Dockerfile", "examples/gitops/pulumi-operator/Dockerfile")


class Reference(NamedTuple):
    """`name` has no version, and `kind` before it: `image rayproject/ray`."""

    name: str
    text: str


# What is pinned by version only, with the reason. docs/security.md lists the same names.
EXCEPTIONS = {
    "chart kuberay-operator": "Helm verifies no digest of a chart in an HTTP repository",
    "chart gpu-operator": "Helm verifies no digest of a chart in an HTTP repository",
    "chart oci://registry.k8s.io/kueue/charts/kueue": "the provider takes a version, no digest",
    "chart oci://ghcr.io/nvidia/kai-scheduler/kai-scheduler": "the provider takes a version, no digest",
    "image registry.k8s.io/kueue/kueue": "the chart's own image; `muster:kueue.image` takes a digest",
    "image muster-controller": "stack local: the sandbox pulls no image",
    "image rayproject/ray": "an example to copy: teams name their own image",
    "image rayproject/ray-llm": "an example to copy: teams name their own image",
    "image busybox": "an example to copy: teams name their own image",
    "image us-west1-docker.pkg.dev/acme-ml-prod/muster/workspace": "an example: users push their own",
    "image docker.io/pulumi/pulumi": "an example: users build it, and its argument BASE takes a digest",
}


def name_of(image: str) -> str:
    return "image " + re.sub(r"(:[^/@]*)?(@.*)?$", "", image)


def images(value: Any) -> Iterator[str]:
    """Yields the images below `image`, and images that a chart's values have as repository and tag."""
    if isinstance(value, Mapping):
        if isinstance(value.get("image"), str):
            yield value["image"]
        if "repository" in value and "tag" in value:
            yield f"{value['repository']}:{value['tag']}"
    for part in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from images(part)


def declared_references(declared: Declarations) -> Iterator[Reference]:
    for resource in declared.values():
        if resource.type.endswith(":Release"):
            inputs = resource.inputs
            yield Reference(f"chart {inputs['chart']}", f"{inputs['chart']}:{inputs['version']}")
        if resource.type.endswith(":ConfigGroup"):
            yield from (Reference(f"manifest {file}", file) for file in resource.inputs["files"])
        if resource.type == "docker-build:index:Image":
            generator = resource.inputs["buildArgs"]["BUILDKIT_ATTEST_SBOM"].removeprefix("generator=")
            yield Reference(name_of(generator), generator)
        yield from (Reference(name_of(image), image) for image in images(resource.inputs))


def written_references() -> Iterator[Reference]:
    """Yields the images of examples and Dockerfiles."""
    for path in sorted((CHECKOUT / "examples").rglob("*.yaml")):
        if "github" in path.parts or "components" in path.parts:
            continue
        for document in yaml.safe_load_all(path.read_text()):
            yield from (Reference(name_of(image), image) for image in images(document))
    for file in DOCKERFILES:
        text = (CHECKOUT / file).read_text()
        arguments = dict(re.findall(r"(?m)^ARG (\w+)=(\S+)$", text))
        stages = set(re.findall(r"(?m)^FROM \S+ AS (\S+)$", text))
        for base in re.findall(r"(?m)^FROM (\S+)", text):
            while argument := re.search(r"\$\{(\w+)\}", base):
                base = base.replace(argument[0], arguments[argument[1]])
            if base not in stages:
                yield Reference(name_of(base), base)


def everything() -> Iterator[Declarations]:
    """Yields the plans of all stacks, and of stacks with each operator."""
    yield from map(declare_stack, STACKS)
    gpus = put("muster:pools", 1, "gpu", {"type": "nvidia-l4", "count": 1, "driver": "disabled"})
    for config in (
        with_engine("kueue"),
        with_engine("kai"),
        with_pool(GPUDIRECT_H100),
        {**gpus, "muster:gpuOperator": {"install": "helm"}},
    ):
        yield declare_platform({**config, "muster:controller": {"build": {}}})


@pytest.fixture(scope="module")
def references() -> list[Reference]:
    declared = [reference for plan in everything() for reference in declared_references(plan)]
    return sorted({*declared, *written_references()})


def test_every_reference_is_by_content_or_excepted(references: list[Reference]) -> None:
    by_version = {reference.name for reference in references if not BY_CONTENT.search(reference.text)}

    assert len(references) > len(by_version) > 0
    assert by_version == set(EXCEPTIONS), json.dumps(sorted(by_version ^ set(EXCEPTIONS)))


def test_operators_and_installers_are_among_them(references: list[Reference]) -> None:
    """Otherwise the test above would see too little."""
    names = {reference.name for reference in references}
    for part in ("ray.io_rayjobs", "kueue.x-k8s.io_workloads", "nccl-tcpx", "syft", "library/python"):
        assert any(part in name for name in names), part


def test_the_page_on_security_lists_the_exceptions() -> None:
    _, section = (CHECKOUT / "docs" / "security.md").read_text().split("\n## Pinned dependencies\n")
    page = section.split("\n## ")[0]

    named = {code.removesuffix(":sandbox") for code in re.findall(r"`([^`]+)`", page)}
    assert {name.partition(" ")[2] for name in EXCEPTIONS} <= named
