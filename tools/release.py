"""Builds the files of a release: wheel, archives, software bill of materials and checksums.

All files are built from a commit, not from the working tree, and have the commit's time; two builds of a
commit have the same checksums.
"""

import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from components.controller.image import SOURCES
from muster import __version__
from tools.toolchain.paths import CHECKOUT
from tools.toolchain.steps import StepError

DIST = CHECKOUT / "dist"
CHECKSUMS = "SHA256SUMS"
PACKAGE = ("LICENSE", "package", "components", "settings", *SOURCES)
"""Paths of the Pulumi package: its folder, its imports, and the sources of the image."""
RECIPE = ("LICENSE", *SOURCES)
"""Paths of the context of `docker build`."""


def release() -> int:
    """Builds the release of HEAD into dist/. Raises StepError if HEAD is not a release."""
    if _git("status", "--porcelain"):
        raise StepError("the working tree has changes that the release would lack", try_this="commit them")
    if f"\n## {__version__}" not in (CHECKOUT / "CHANGELOG.md").read_text():
        raise StepError(f"CHANGELOG.md has no section {__version__}", try_this="write it (RELEASE.md)")
    for file in build(DIST):
        print(f"{file.stat().st_size:>9}  {file.relative_to(CHECKOUT)}")
    return 0


def build(into: Path) -> list[Path]:
    """Builds the release of HEAD into a folder, emptied first; returns the files, the checksums last.

    Raises StepError if the checkout has no history or a build fails.
    """
    into.mkdir(exist_ok=True)
    for leftover in into.iterdir():
        leftover.unlink()
    committed = int(_git("show", "--no-patch", "--format=%ct", "HEAD"))
    name = f"muster-{__version__}"
    files = [
        _wheel(into, committed),
        _archive(into / f"{name}-package.tar.gz", PACKAGE, name),
        _archive(into / f"{name}-image.tar.gz", RECIPE, name),
        into / f"{name}.cdx.json",
    ]
    files[-1].write_text(json.dumps(bill_of_materials(committed), indent=1) + "\n")
    sums = "".join(f"{_digest(file)}  {file.name}\n" for file in sorted(files))
    (into / CHECKSUMS).write_text(sums)
    return [*sorted(files), into / CHECKSUMS]


def _wheel(into: Path, committed: int) -> Path:
    with tempfile.TemporaryDirectory() as directory:
        packed = Path(directory, "sources.tar")
        packed.write_bytes(_tar((), ""))
        with tarfile.open(packed) as tar:
            tar.extractall(directory, filter="data")
        _run(
            [
                sys.executable,
                "-m",
                "hatchling",
                "build",
                "--target",
                "wheel",
                "--directory",
                str(into.resolve()),
            ],
            directory,
            SOURCE_DATE_EPOCH=str(committed),
        )
    (wheel,) = into.glob("*.whl")
    return wheel


def _archive(file: Path, paths: Sequence[str], prefix: str) -> Path:
    file.write_bytes(gzip.compress(_tar(paths, f"{prefix}/"), mtime=0))
    return file


def _tar(paths: Sequence[str], prefix: str) -> bytes:
    """Returns these paths of HEAD, or all; git sets owners, modes and times independently of this machine."""
    argv = ["git", "-c", "tar.umask=0022", "archive", "--format=tar", f"--prefix={prefix}", "HEAD", *paths]
    return _run(argv, str(CHECKOUT))


def bill_of_materials(committed: int) -> dict[str, Any]:
    """Returns the locked dependencies in CycloneDX 1.6: "required" ones are in the controller's image.

    Source: https://cyclonedx.org/docs/1.6/json/, as of November 2025.
    """
    everything, of_image = _pins("all"), _pins("controller")
    purl = f"pkg:pypi/muster@{__version__}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{purl}#{committed}')}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(committed, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": purl,
                "purl": purl,
                **_named("muster", __version__),
            },
        },
        "components": [
            _base_image(),
            *(_library(name, everything[name], name in of_image) for name in sorted(everything)),
        ],
    }


def _pins(lock: str) -> dict[str, str]:
    text = (CHECKOUT / "requirements" / f"{lock}.lock").read_text()
    return dict(re.findall(r"(?m)^([A-Za-z0-9._-]+)==([^\s;\\]+)", text))


def _library(name: str, version: str, required: bool) -> dict[str, Any]:
    purl = f"pkg:pypi/{name}@{version}"
    scope = "required" if required else "optional"
    return {"type": "library", "bom-ref": purl, "purl": purl, "scope": scope, **_named(name, version)}


def _base_image() -> dict[str, Any]:
    match = re.search(
        r"(?m)^ARG PYTHON=(\S+):(\S+)@sha256:([0-9a-f]{64})$", (CHECKOUT / "Dockerfile").read_text()
    )
    if match is None:
        raise StepError("the Dockerfile pins no base image by digest")
    repository, tag, digest = match.groups()
    hashes = [{"alg": "SHA-256", "content": digest}]
    return {"type": "container", "scope": "required", "hashes": hashes, **_named(repository, tag)}


def _named(name: str, version: str) -> dict[str, str]:
    return {"name": name, "version": version}


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _git(*arguments: str) -> str:
    return _run(["git", *arguments], str(CHECKOUT)).decode().strip()


def _run(argv: Iterable[str], directory: str, **variables: str) -> bytes:
    argv = list(argv)
    ran = subprocess.run(argv, cwd=directory, env={**os.environ, **variables}, capture_output=True)
    if ran.returncode != 0:
        raise StepError(f"{' '.join(argv)} failed:\n{ran.stderr.decode(errors='replace').strip()}")
    return ran.stdout
