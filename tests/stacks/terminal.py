"""Runs commands of the documentation and the workflows in a clone of this checkout."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from preview.pulumi_cli import PulumiCli
from tools.toolchain.paths import CHECKOUT

NOT_CLONED = (".git", ".muster", "__pycache__", ".*_cache", ".hypothesis")
OWN = ("PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE_FILE")


@dataclass(frozen=True)
class Terminal:
    """A shell in a clone, with the engine and the plugins of `cli` and this Python on PATH, and not logged in
    anywhere."""

    cli: PulumiCli
    folder: Path
    env: Mapping[str, str] = field(default_factory=dict)

    def type(self, command: str) -> str:
        """Runs one command as GitHub's runners do, and returns its output; asserts that it succeeds."""
        self.cli.preload()
        env = {name: value for name, value in self.cli._env.items() if name not in OWN}
        env["PATH"] = f"{self.cli.binary.parent}:{Path(sys.executable).parent}:{env['PATH']}"
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", command],
            cwd=self.folder,
            env={**env, **self.env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr


def copy_checkout(folder: Path) -> Path:
    """Copies the files of this checkout, including uncommitted edits."""
    return Path(shutil.copytree(CHECKOUT, folder, ignore=shutil.ignore_patterns(*NOT_CLONED)))
