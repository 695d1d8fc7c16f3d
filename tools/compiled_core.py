"""The package with a compiled admission core, as in the controller's image (Dockerfile).

The wheel's build compiles it, as `pip install .` does with HATCH_BUILD_HOOKS_ENABLE=true.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.bootstrap import cache_directory, exclusive
from tools.toolchain.paths import CHECKOUT
from tools.toolchain.steps import Screen, StepError

PACKAGE = CHECKOUT / "muster"
_PROJECT = ("pyproject.toml", "README.md", "LICENSE")


def has_compiler() -> bool:
    """Returns whether there is a C compiler, without which the core stays interpreted."""
    return shutil.which("cc") is not None


def site(screen: Screen | None = None) -> Path:
    """Returns a folder with the package, its sources and its compiled core. Compiling takes minutes, once per
    version of the core. Raises: StepError."""
    cache = cache_directory() / "compiled"
    libraries = cache / f"core-{_digest((PACKAGE / 'admission').rglob('*.py'), _build_settings())}"
    folder = cache / f"{libraries.name}-with-{_digest(PACKAGE.rglob('*.py'))}"
    with exclusive(cache / "lock", "the compiled core"):
        if not libraries.exists():
            with _shown(screen or Screen()), TemporaryDirectory(dir=cache) as build_folder:
                _compile(Path(build_folder)).rename(libraries)
        if not folder.exists():
            with TemporaryDirectory(dir=cache) as build_folder:
                whole = shutil.copytree(libraries, Path(build_folder) / "site")
                _copy_package(whole)
                whole.rename(folder)
    return folder


def _compile(folder: Path) -> Path:
    """Builds the wheel in this folder; returns where its libraries are. The build moves pyproject.toml for a
    while, and writes libraries next to the sources, so it compiles a copy."""
    project = folder / "project"
    _copy_package(project)
    for name in _PROJECT:
        shutil.copy(CHECKOUT / name, project)
    command = [sys.executable, "-m", "hatchling", "build", "--target=wheel", f"--directory={folder}"]
    env = {**os.environ, "HATCH_BUILD_HOOKS_ENABLE": "true"}
    run = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True)
    if run.returncode:
        raise StepError(f"the admission core cannot be compiled:\n{run.stdout}{run.stderr}")
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "core", [name for name in archive.namelist() if name.endswith(".so")])
    return folder / "core"


def _copy_package(folder: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, folder / PACKAGE.name, ignore=ignored, dirs_exist_ok=True)


def _shown(screen: Screen) -> AbstractContextManager[None]:
    return screen.activity(lambda took_s: f"compiling the admission core for {took_s:.0f} s, of about 190 s")


def run_compiled(module: str, arguments: Sequence[str]) -> int:
    """Runs a module with the compiled core, or with the interpreted one if there is no C compiler. Returns
    its exit code. Raises: StepError."""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    if has_compiler():
        environment["PYTHONPATH"] = os.pathsep.join((str(site()), str(CHECKOUT)))
    # -P: the checkout's own package would be imported first.
    return subprocess.run([sys.executable, "-P", "-m", module, *arguments], env=environment).returncode


def _build_settings() -> str:
    """Returns the tables of pyproject.toml that the compiler's result depends on."""
    tables = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
    return repr([tables["build-system"], tables["tool"]["hatch"], tables["tool"]["mypy"]])


def _digest(files: Iterable[Path], settings: str = "") -> str:
    digest = hashlib.sha256(f"{sys.version}\n{settings}\n".encode())
    for path in sorted(files):
        digest.update(f"{path.relative_to(CHECKOUT)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]
