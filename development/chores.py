"""Formatting, lock files, coverage and generated documents."""

import subprocess
import sys

from sandbox.toolchain.paths import CHECKOUT
from settings.reference import reference

PYTHON_OLDEST = "3.11"
LOCKED = (
    "requirements",
    "requirements-go",
    "requirements-controller",
)  # the last at the versions of the first


def lock() -> int:
    """Resolves each requirements*.in anew into its lock file, with hashes."""
    for name in LOCKED:
        arguments = ["pip", "compile", "--quiet", "--universal", "--python-version", PYTHON_OLDEST]
        arguments += ["--generate-hashes", "--no-header", "--no-emit-index-url"]
        if code := _run("uv", *arguments, f"{name}.in", "--output-file", f"{name}.lock"):
            return code
    return 0


def format_code() -> int:
    """Formats the code and mends what the linter can mend."""
    return _run("ruff", "check", "--fix", ".") or _run("ruff", "format", ".")


def docs() -> int:
    """Writes the settings reference anew from the models."""
    (CHECKOUT / "docs" / "settings.md").write_text(reference())
    return 0


def coverage() -> int:
    """Branch coverage of the core by its own tests; anything less than all of it is an error."""
    tests = ("-m", "pytest", "-q", "--numprocesses=2", "--dist=worksteal", "tests/unit/admission")
    return (
        _run("coverage", "erase")
        or _run("coverage", "run", *tests)
        or _run("coverage", "combine", "--quiet")
        or _run("coverage", "report", "--fail-under=100")
    )


def _run(module: str, *arguments: str) -> int:
    return subprocess.call([sys.executable, "-m", module, *arguments], cwd=CHECKOUT)
