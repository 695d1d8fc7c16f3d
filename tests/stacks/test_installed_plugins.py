"""A plugin that the user has installed in `~/.pulumi`, used from the home directory made for the engine."""

import shlex
import sys
from pathlib import Path

import pytest

from preview.plugins.choice import wanted_versions
from preview.preview import preview
from preview.pulumi_cli import PulumiCli
from tools.bootstrap import cache_directory
from tools.toolchain.paths import CHECKOUT

VERSION = wanted_versions()["kubernetes"]


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a Kubernetes plugin; returns the file that the plugin writes when it is started."""
    home = tmp_path / "home"
    folder = home / ".pulumi" / "plugins" / f"resource-kubernetes-v{VERSION}"
    folder.mkdir(parents=True)
    notes = tmp_path / "started"
    run = shlex.join([sys.executable, "-P", "-m", "preview.plugins.kubernetes_provider"])
    plugin = folder / "pulumi-resource-kubernetes"
    plugin.write_text(
        f'#!/bin/sh\necho "$0" >> {shlex.quote(str(notes))}\n'
        f'PYTHONPATH={shlex.quote(str(CHECKOUT))} exec {run} "$@"\n'
    )
    plugin.chmod(0o755)
    folder.with_name(f"{folder.name}.lock").touch()
    monkeypatch.setenv("MUSTER_CACHE", str(cache_directory()))  # which is in the real home
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("PULUMI_HOME", raising=False)
    return notes


def test_the_engine_lists_an_installed_plugin(tools: dict[str, Path], tmp_path: Path, started: Path) -> None:
    cli = PulumiCli(tools["pulumi"], tmp_path / "run")
    listed = [line.split() for line in cli.run(["plugin", "ls"], tmp_path / "log").splitlines()]
    assert ["kubernetes", "resource", VERSION] in [columns[:3] for columns in listed]


@pytest.mark.thorough
def test_make_preview_runs_an_installed_plugin(tools: dict[str, Path], started: Path) -> None:
    assert preview("local") == 0
    assert started.read_text()
