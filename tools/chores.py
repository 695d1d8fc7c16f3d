"""Formats code, checks types, writes lock files, and measures coverage."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.gcp_replacements import lock_replacements
from tools.toolchain.paths import CHECKOUT

PYTHON_OLDEST = "3.11"
# Sources of each lock file. Files with constraints pin the same versions as the first one.
LOCKS = {
    "requirements/all.lock": ("pyproject.toml", "--extra", "platform", "--extra", "development"),
    "requirements/controller.lock": ("pyproject.toml", "--constraints", "requirements/all.lock"),
    "requirements/core.lock": ("requirements/core.in", "--constraints", "requirements/all.lock"),
    "requirements/deploy.lock": ("requirements/deploy.in", "--constraints", "requirements/all.lock"),
    "requirements/go.lock": ("requirements/go.in",),
    "requirements/accasim.lock": ("requirements/accasim.in",),  # the simulator that make bench compares with
    "requirements/ray.lock": ("requirements/ray.in",),  # for make up RAY=real
}


MYPY_CACHE = CHECKOUT / ".mypy_cache"
SHARED_MYPY_CACHE = Path(sys.prefix) / "mypy"
"""A copy of the cache in the locked environment. mypy itself detects stale entries."""


def lock() -> int:
    """Resolves the dependencies into the lock files, with hashes; keeps versions that still satisfy them. For
    another version of pulumi-gcp, also writes the properties whose change recreates a resource."""
    for lock_file, sources in LOCKS.items():
        arguments = ["pip", "compile", "--quiet", "--universal", "--python-version", PYTHON_OLDEST]
        arguments += ["--generate-hashes", "--no-header", "--no-emit-index-url"]
        if code := _run("uv", *arguments, *sources, "--output-file", lock_file):
            return code
    lock_replacements()
    return 0


def format_code() -> int:
    """Formats the code and applies the linter's safe fixes."""
    return _run("ruff", "check", "--fix", ".") or _run("ruff", "format", ".")


def types(cache: Path = MYPY_CACHE, shared_cache: Path = SHARED_MYPY_CACHE) -> int:
    """Runs mypy; returns its exit code. A checkout without a cache starts with the shared one, because mypy
    needs a minute for the libraries."""
    if not cache.exists() and shared_cache.exists():
        _copy(shared_cache, cache)
    code = subprocess.call([sys.executable, "-m", "mypy"], cwd=CHECKOUT)
    if code == 0 and not shared_cache.exists():
        _copy(cache, shared_cache)
    return code


def _copy(source: Path, target: Path) -> None:
    """Copies a folder atomically: the target is complete as soon as it exists."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{target.name}-") as unfinished:
        copy = shutil.copytree(source, Path(unfinished) / "copy")
        if not target.exists():
            copy.rename(target)


def coverage() -> int:
    """Measures the branch coverage of the core by its own tests; fails below 100%."""
    tests = ("-m", "pytest", "-q", "--numprocesses=2", "--dist=worksteal", "tests/unit/admission")
    return (
        _run("coverage", "erase")
        or _run("coverage", "run", *tests)
        or _run("coverage", "combine", "--quiet")
        or _run("coverage", "report", "--fail-under=100")
    )


def _run(module: str, *arguments: str) -> int:
    return subprocess.call([sys.executable, "-m", module, *arguments], cwd=CHECKOUT)
