"""mypy with a cache that outlives the checkout: its analysis of the libraries takes a minute."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sandbox.toolchain.paths import CHECKOUT

CACHE = CHECKOUT / ".mypy_cache"
KEPT = Path(sys.prefix) / "mypy"
"""A copy beside the locked libraries that it is about. mypy checks by itself what of it is still right."""


def types(cache: Path = CACHE, kept: Path = KEPT) -> int:
    """Checks the types; a checkout without a cache begins with the kept one. Returns the exit code."""
    if not cache.exists() and kept.exists():
        _copy(kept, cache)
    code = subprocess.call([sys.executable, "-m", "mypy"], cwd=CHECKOUT)
    if code == 0 and not kept.exists():
        _copy(cache, kept)
    return code


def _copy(source: Path, target: Path) -> None:
    """Copies a folder so that the target, if it exists, is complete."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{target.name}-") as unfinished:
        made = shutil.copytree(source, Path(unfinished) / "copy")
        if not target.exists():
            made.rename(target)
