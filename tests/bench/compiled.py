"""The package as `pip install .` puts it into site-packages if it compiles the admission core."""

import hashlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from sandbox.bootstrap import cache_directory
from sandbox.toolchain.paths import CHECKOUT


def site() -> Path:
    """Builds the wheel, which takes minutes, once for each version of the package; returns its contents."""
    folder = cache_directory() / "compiled" / _digest()
    if not folder.exists():
        with TemporaryDirectory(dir=_created(folder.parent)) as built:
            command = [sys.executable, "-m", "hatchling", "build", "--target=wheel", f"--directory={built}"]
            # Without the second one, what is compiled stays in the checkout, and is imported from there.
            env = {**os.environ, "HATCH_BUILD_HOOKS_ENABLE": "true", "HATCH_BUILD_CLEAN_HOOKS_AFTER": "true"}
            subprocess.run(command, cwd=CHECKOUT, env=env, check=True, capture_output=True)
            (wheel,) = Path(built).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(Path(built) / "site")
            (Path(built) / "site").rename(folder)
    return folder


def printed(module: str, arguments: Sequence[str], package: Path = CHECKOUT) -> str:
    """Returns what `main` of a module prints in a process that imports `muster` from this folder."""
    code = f"import sys; sys.path[:0] = [{str(package)!r}, {str(CHECKOUT)!r}]; "
    code += f"from {module} import main; main(sys.argv[1:])"
    command = [sys.executable, "-P", "-c", code, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _created(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _digest() -> str:
    found = hashlib.sha256(sys.version.encode())
    for path in (CHECKOUT / "pyproject.toml", *sorted((CHECKOUT / "muster").rglob("*.py"))):
        found.update(f"{path.relative_to(CHECKOUT)}\n".encode() + path.read_bytes())
    return found.hexdigest()[:16]
