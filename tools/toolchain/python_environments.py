"""Separate Python environments, for programs whose dependencies conflict with Muster's."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from tools.bootstrap import exclusive, pip_settings_for_uv
from tools.toolchain.paths import CHECKOUT, cache_directory
from tools.toolchain.steps import StepError

ERROR_LINES = 10


def python_with(name: str) -> Path:
    """Returns a Python with the packages of `requirements/<name>.lock`, installed once per lock and Python.

    Raises StepError with the end of the output if they can't be installed.
    """
    lock = CHECKOUT / "requirements" / f"{name}.lock"
    key = hashlib.sha256(sys.version.encode() + lock.read_bytes()).hexdigest()[:16]
    environment = cache_directory() / "environments" / f"{name}-{key}"
    python, done = environment / "bin" / "python", environment / "muster-complete"
    with exclusive(environment.with_suffix(".lock"), f"the Python environment {name}"):
        if not done.exists():
            subject = f"the Python environment {name}"
            _run(subject, "venv", "--clear", "--without-pip", str(environment))  # uv installs into it
            install = (
                "pip",
                "install",
                "--quiet",
                "--python",
                str(python),
                "--require-hashes",
                "-r",
                str(lock),
            )
            run_uv(subject, *install)
            done.touch()
    return python


def run_uv(subject: str, *arguments: str) -> None:
    """Runs uv with pip's settings. Raises StepError with the end of its output: the subject cannot be
    installed."""
    _run(subject, "uv", *arguments)


def _run(subject: str, module: str, *arguments: str) -> None:
    result = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env={**os.environ, **pip_settings_for_uv(Path(sys.executable))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if result.returncode != 0:
        output = "\n".join(result.stdout.splitlines()[-ERROR_LINES:])
        raise StepError(
            f"{subject} can't be installed:\n{output}",
            try_this="check that the package index is reachable (pip config list)",
        )
