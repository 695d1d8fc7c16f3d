"""Runs the Python of a root file system on the machine, without chroot and so without root."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tools.toolchain.paths import CHECKOUT
from tools.toolchain.python_environments import run_uv
from tools.toolchain.steps import StepError

JOBS = 2
_SOME_FILES_FAIL = 1
"""compileall's exit code if files have syntax errors, as test data of some packages has."""


@dataclass(frozen=True)
class ImagePython:
    """The Python of a root file system."""

    root: Path

    @property
    def version(self) -> str:
        """The minor version, such as 3.11."""
        return (self.root / "usr" / "bin" / "python3").readlink().name.removeprefix("python")

    def compile(self, tree: Path, folder: str) -> None:
        """Writes byte code for a folder of a tree that becomes a layer.

        It is never checked against its source: layers have no times, and pods may not write a new one.
        """
        result = subprocess.run(
            [
                *self._command(),
                *("-m", "compileall", "-qq", "-j", str(JOBS), "--invalidation-mode", "unchecked-hash"),
                *("-s", str(tree), "-p", "/", str(tree / folder)),
            ],
            env={**os.environ, "PYTHONHOME": str(self.root / "usr"), "PYTHONPATH": ""},
            capture_output=True,
            text=True,
        )
        if result.returncode not in (0, _SOME_FILES_FAIL):
            raise StepError(f"the image's Python can't compile {folder}:\n{result.stderr.strip()}")

    def _command(self) -> list[str]:
        # by the image's own loader and libraries, as its libc can be newer than the machine's
        (loader,) = (self.root / "usr" / "lib").glob("*-linux-gnu/ld-linux-*.so.*")
        python = self.root / "usr" / "bin" / f"python{self.version}"
        return [str(loader), "--library-path", str(loader.parent), str(python)]


def install(lock: str, target: Path, python_version: str) -> None:
    """Installs the packages of requirements/<lock>.lock into a folder for another version of Python.

    Raises StepError with the end of uv's output.
    """
    command = ["pip", "install", "--quiet", "--target", str(target), "--python-version", python_version]
    command += ["--only-binary", ":all:", "--require-hashes", "--no-deps", "--link-mode", "copy"]
    command += ["-r", str(CHECKOUT / "requirements" / f"{lock}.lock")]
    run_uv(f"requirements/{lock}.lock", *command)
