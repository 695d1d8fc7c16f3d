"""The files of a release: they are the same in every build, work on their own, and have one version."""

import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

from muster import __version__
from tools.release import CHECKSUMS, build
from tools.toolchain.paths import CHECKOUT

pytestmark = pytest.mark.thorough
WITHOUT_CHECKOUT = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build(folder)
    return folder


def _extracted(archive: Path, into: Path) -> Path:
    with tarfile.open(archive) as tar:
        tar.extractall(into, filter="data")
    (folder,) = into.iterdir()
    return folder


def test_a_second_build_has_the_same_checksums(dist: Path, tmp_path: Path) -> None:
    build(tmp_path)

    assert (tmp_path / CHECKSUMS).read_text() == (dist / CHECKSUMS).read_text()


def test_the_checksums_are_of_all_files(dist: Path) -> None:
    subprocess.run(["sha256sum", "--check", "--strict", CHECKSUMS], cwd=dist, check=True, capture_output=True)
    listed = {line.split()[1] for line in (dist / CHECKSUMS).read_text().splitlines()}

    assert listed == {file.name for file in dist.iterdir()} - {CHECKSUMS}
    assert all(f"muster-{__version__}" in name for name in listed)


def test_the_wheel_installs_and_prints_its_version(dist: Path, tmp_path: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    uv = (sys.executable, "-m", "uv")
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, str(tmp_path)], check=True)
    into = ("--python", str(tmp_path / "bin" / "python"))
    locked = ("--require-hashes", "--requirement", str(CHECKOUT / "requirements" / "controller.lock"))
    subprocess.run([*uv, "pip", "install", "--quiet", *into, *locked], check=True)
    subprocess.run([*uv, "pip", "install", "--quiet", *into, "--no-deps", str(wheel)], check=True)

    answer = subprocess.run(
        [str(tmp_path / "bin" / "muster"), "--version"],
        cwd=tmp_path,
        env=WITHOUT_CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert answer.stdout == f"muster {__version__}\n"


def test_the_package_archive_declares_the_schema(dist: Path, tmp_path: Path) -> None:
    """Only with its own files: a module that it lacks would be missing here."""
    folder = _extracted(dist / f"muster-{__version__}-package.tar.gz", tmp_path)
    program = "from package import components, provider, schema; print(schema.text(), end='')"

    answer = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=WITHOUT_CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == (folder / "package" / "schema.json").read_text()


def test_the_image_archive_has_all_that_the_dockerfile_copies(dist: Path, tmp_path: Path) -> None:
    folder = _extracted(dist / f"muster-{__version__}-image.tar.gz", tmp_path)
    copied = re.findall(r"(?m)^COPY (?!--from)(\S+) ", (folder / "Dockerfile").read_text())

    assert copied
    assert [source for source in copied if not (folder / source).exists()] == []


def test_the_bill_of_materials_names_locked_versions_once(dist: Path) -> None:
    bill = json.loads((dist / f"muster-{__version__}.cdx.json").read_text())
    references = [part["bom-ref"] for part in bill["components"] if part["type"] == "library"]
    of_image = {part["name"] for part in bill["components"] if part["scope"] == "required"}

    assert len(references) == len(set(references))
    assert {"aiohttp", "msgspec", "docker.io/library/python"} <= of_image
    assert "pulumi" not in of_image


def test_all_files_have_the_same_version() -> None:
    pack = yaml.safe_load((CHECKOUT / "policies" / "PulumiPolicy.yaml").read_text())
    schema = json.loads((CHECKOUT / "package" / "schema.json").read_text())

    assert {pack["version"], schema["version"]} == {__version__}
