"""Runs mypy with a cache outside the checkout, as analyzing the libraries takes a minute."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.toolchain.paths import CHECKOUT

CACHE = CHECKOUT / ".mypy_cache"
SHARED_CACHE = Path(sys.prefix) / "mypy"
"""A copy of the cache in the locked environment. mypy itself detects stale entries."""


def types(cache: Path = CACHE, shared_cache: Path = SHARED_CACHE) -> int:
    """Checks the types; a checkout without a cache starts with the shared one. Returns the exit code."""
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
