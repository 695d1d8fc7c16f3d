"""The controller's image: its sources, its registry, and its pinned dependencies."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.controller.image import SOURCES, content_tag
from components.controller.pod import USER_ID
from tests.unit.components.harness import Declarations, declare_platform
from tests.unit.settings.builders import put

CHECKOUT = Path(__file__).parents[3]
REQUIREMENTS = CHECKOUT / "requirements"
LOCK = REQUIREMENTS / "controller.lock"
DOCKERFILE = (CHECKOUT / "Dockerfile").read_text()


@pytest.fixture(scope="module")
def declared() -> Declarations:
    return declare_platform(put("muster:controller", {"build": {"keepImages": 5}}))


def test_it_is_built_for_the_nodes_and_pushed(declared: Declarations) -> None:
    inputs = declared.inputs("Image/controller")

    assert inputs["platforms"] == ["linux/amd64"]
    assert inputs["push"] is True
    assert inputs["buildOnPreview"] is False
    assert (inputs["context"]["location"], inputs["dockerfile"]["location"]) == (".", "Dockerfile")
    assert inputs["tags"] == [
        f"us-west1-docker.pkg.dev/acme-ml/ray-muster/controller:{content_tag(CHECKOUT, 'compiled')}"
    ]


def test_the_registry_deletes_old_images_but_for_the_newest(declared: Declarations) -> None:
    registry = declared["Repository/ray-muster"]

    assert registry.inputs["location"] == "us-west1"
    # Images with immutable tags are never deleted (Artifact Registry).
    assert registry.inputs["dockerConfig"] == {"immutableTags": False}
    assert registry.inputs["vulnerabilityScanningConfig"] == {"enablementConfig": "INHERITED"}
    assert registry.inputs["cleanupPolicies"] == [
        {"id": "keep-newest", "action": "KEEP", "mostRecentVersions": {"keepCount": 15}},
        {"id": "delete-old", "action": "DELETE", "condition": {"tagState": "ANY", "olderThan": "2592000s"}},
    ]
    assert registry.provider == "gcp/google"
    assert "Repository/ray-muster" in declared["Image/controller"].depends_on


def test_it_has_an_sbom_and_the_whole_provenance(declared: Declarations) -> None:
    arguments = declared.inputs("Image/controller")["buildArgs"]

    assert re.fullmatch(r"generator=\S+@sha256:[0-9a-f]{64}", arguments["BUILDKIT_ATTEST_SBOM"])
    assert arguments["BUILDKIT_ATTEST_PROVENANCE"] == "mode=max"


def test_the_sbom_generator_can_be_a_mirrors() -> None:
    mirror = f"registry.example/syft@sha256:{'a' * 64}"
    declared = declare_platform(put("muster:controller", {"build": {"sbomGenerator": mirror}}))

    arguments = declared.inputs("Image/controller")["buildArgs"]
    assert arguments["BUILDKIT_ATTEST_SBOM"] == f"generator={mirror}"


@pytest.mark.parametrize("core", ["compiled", "interpreted"])
def test_the_stack_says_whether_the_core_is_compiled(core: str) -> None:
    declared = declare_platform(put("muster:controller", {"build": {"core": core}}))

    inputs = declared.inputs("Image/controller")
    assert inputs["buildArgs"]["CORE"] == core
    assert inputs["tags"][0].endswith(f":{content_tag(CHECKOUT, core)}")
    assert re.search(rf"(?m)^FROM \S+ AS {core}$", DOCKERFILE)


@pytest.mark.parametrize(
    ("cluster", "build", "repository"),
    [
        ("ray", {}, "ray-muster"),
        ("ray-2", {}, "ray-2-muster"),
        ("ray", {"repository": "images"}, "images"),
    ],
    ids=["of the cluster's name", "of another cluster's", "named"],
)
def test_stacks_of_a_project_have_registries_of_their_own(
    cluster: str, build: dict[str, str], repository: str
) -> None:
    config = put("muster:controller", {"build": build})
    config["muster:cluster"]["name"] = cluster
    declared = declare_platform(config)

    assert declared.kinds("Repository") == [f"Repository/{repository}"]
    assert declared.inputs(f"Repository/{repository}")["repositoryId"] == repository
    assert f"/{repository}/controller:" in declared.inputs("Image/controller")["tags"][0]


def test_the_pushed_digest_is_deployed(declared: Declarations) -> None:
    (container,) = declared.spec("Deployment/muster-controller")["template"]["spec"]["containers"]

    assert re.fullmatch(r"us-west1-docker\.pkg\.dev/.*@sha256:[0-9a-f]{64}", container["image"])
    assert "Image/controller" in declared["Deployment/muster-controller"].depends_on


def copied() -> Iterator[str]:
    """Yields the paths that the Dockerfile copies from the checkout."""
    for line in re.findall(r"(?m)^COPY (?!--from)(.+)$", DOCKERFILE):
        yield from line.split()[:-1]


def test_the_build_context_holds_exactly_the_copied_files() -> None:
    ignore = (CHECKOUT / ".dockerignore").read_text().splitlines()
    included = [line.removeprefix("!") for line in ignore if line.startswith("!")]

    assert "*" in ignore
    assert sorted(included) == sorted(set(copied()))
    assert set(included) < set(SOURCES)
    assert all((CHECKOUT / source).exists() for source in included)


def test_every_stage_has_one_pinned_base_and_runs_as_nonroot() -> None:
    assert re.search(r"(?m)^ARG PYTHON=docker\.io/library/python:\S+@sha256:[0-9a-f]{64}$", DOCKERFILE)
    stages = re.findall(r"(?m)^FROM (\S+)(?: AS (\S+))?$", DOCKERFILE)
    assert {base for base, name in stages if name != "sources"} == {"${PYTHON}"}
    assert f"USER {USER_ID}:{USER_ID}" in DOCKERFILE


def test_the_tag_changes_with_the_content(tmp_path: Path) -> None:
    (tmp_path / "requirements").mkdir()
    for source in SOURCES[:-1]:
        (tmp_path / source).write_text(source)
    (tmp_path / "muster").mkdir()
    code = tmp_path / "muster" / "code.py"
    code.write_text("1")
    first = content_tag(tmp_path, "compiled")
    (tmp_path / "muster" / "__pycache__").mkdir()
    (tmp_path / "muster" / "__pycache__" / "code.pyc").write_text("compiled")
    (tmp_path / "README.md").write_text("not in the image")

    assert content_tag(tmp_path, "compiled") == first
    assert content_tag(tmp_path, "interpreted") != first
    code.write_text("2")
    assert content_tag(tmp_path, "compiled") != first


@pytest.mark.parametrize("name", ["controller", "core", "deploy"])
def test_a_lock_has_the_versions_that_tests_use(name: str) -> None:
    pin = re.compile(r"(?m)^[a-z0-9-]+==\S+")
    everywhere, locked = (REQUIREMENTS / "all.lock").read_text(), (REQUIREMENTS / f"{name}.lock").read_text()

    assert set(pin.findall(locked)) <= set(pin.findall(everywhere))
    assert all("--hash=sha256:" in part for part in pin.split(locked)[1:])


def test_the_lock_is_enough_to_run_the_controller(tmp_path: Path) -> None:
    """Runs it in an environment with these libraries only, as in the image."""
    uv = (sys.executable, "-m", "uv")
    python = str(tmp_path / "bin" / "python")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, str(tmp_path)], check=True)
    install = (
        "pip",
        "install",
        "--quiet",
        "--python",
        python,
        "--require-hashes",
        "--requirement",
        str(LOCK),
    )
    subprocess.run([*uv, *install], check=True, env=environment)

    run = [python, "-m", "muster", "controller", "--help"]
    helped = subprocess.run(run, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)

    assert helped.returncode == 0, helped.stderr
    assert "--lease-namespace" in helped.stdout
