"""The CustomResourceDefinitions a sandbox serves, copied out of the pinned Go modules into the cache."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

from sandbox.bootstrap import exclusive
from sandbox.golang import MODULES, Go, find_go
from sandbox.paths import cache_directory
from sandbox.steps import StepError
from sandbox.tools import CRD_SOURCES, CrdSource


def ensure_crds() -> Path:
    """A folder with every CRD as YAML. Raises StepError if a module cannot be had."""
    digest = hashlib.sha256(repr(CRD_SOURCES).encode())
    for wrapper in sorted({source.wrapper for source in CRD_SOURCES}):
        digest.update((MODULES / wrapper / "go.sum").read_bytes())
    folder = cache_directory() / f"crds-{digest.hexdigest()[:12]}"
    with exclusive(cache_directory() / "crds.lock", "the CRDs"):
        if not folder.exists():
            _collect(folder)
    return folder


def _collect(folder: Path) -> None:
    go = find_go()
    unfinished = folder.with_name(folder.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for source in CRD_SOURCES:
        definitions = sorted((_module_directory(source, go) / source.folder).glob("*.yaml"))
        definitions = [path for path in definitions if path.name != "kustomization.yaml"]
        if not definitions:
            raise StepError(f"module {source.module} holds no CRDs in {source.folder}")
        for path in definitions:
            shutil.copyfile(path, unfinished / path.name)
    unfinished.rename(folder)


def _module_directory(source: CrdSource, go: Go) -> Path:
    answer = subprocess.run(
        [str(go.executable), "mod", "download", "-json", source.module],
        cwd=MODULES / source.wrapper,
        env=dict(go.environment),
        capture_output=True,
        text=True,
    )
    if answer.returncode != 0:
        raise StepError(
            f"Go module {source.module} cannot be downloaded: {answer.stderr or answer.stdout}",
            try_this="make the Go module proxy reachable (go env GOPROXY), then run this again",
        )
    return Path(json.loads(answer.stdout)["Dir"])
