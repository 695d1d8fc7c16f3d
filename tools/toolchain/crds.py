"""Copies the CustomResourceDefinitions of a sandbox from the pinned Go modules into the cache."""

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path

import yaml

from tools.bootstrap import exclusive
from tools.toolchain.golang import MODULES, find_go, module_directory
from tools.toolchain.paths import cache_directory
from tools.toolchain.steps import StepError
from tools.toolchain.tools import CrdSource, crds_for


def ensure_crds(engine: str, *operators: str) -> Path:
    """Returns a folder with the CRDs of `engine` and of these operators (`jobset`, `lws`) as YAML.

    Raises StepError if a module is not available."""
    sources = crds_for(engine, operators)
    digest = hashlib.sha256(repr(sources).encode())
    for wrapper in sorted({source.wrapper for source in sources}):
        digest.update((MODULES / wrapper / "go.sum").read_bytes())
    folder = cache_directory() / f"crds-{digest.hexdigest()[:12]}"
    with exclusive(cache_directory() / "crds.lock", "the CRDs"):
        if not folder.exists():
            _collect(sources, folder)
    return folder


def _collect(sources: Sequence[CrdSource], folder: Path) -> None:
    go = find_go()
    unfinished = folder.with_name(folder.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for source in sources:
        origin = module_directory(go, source.wrapper, source.module) / source.folder
        definitions = [path for path in origin.glob(source.files) if path.name != "kustomization.yaml"]
        if not definitions:
            raise StepError(f"module {source.module} has no CRDs in {source.folder}")
        for path in definitions:
            text = path.read_text()
            copied = with_one_version(text, source.version) if source.version else text
            (unfinished / path.name).write_text(copied)
    unfinished.rename(folder)


def with_one_version(text: str, version: str) -> str:
    """Returns a CRD, in YAML, that has this version alone. Raises StepError if it has no such version."""
    definition = yaml.load(text, yaml.CSafeLoader)
    versions = [entry for entry in definition["spec"]["versions"] if entry["name"] == version]
    if not versions:
        raise StepError(f"the CRD {definition['metadata']['name']} has no version {version}")
    definition["spec"]["versions"] = versions
    return yaml.dump(definition, Dumper=yaml.CSafeDumper)
