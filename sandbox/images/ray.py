"""The image of Ray's pods: Python, the packages of requirements/ray.lock, and the user `ray`."""

import re
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from sandbox.images.image import Recipe, key_of
from sandbox.images.image_python import install
from sandbox.images.layers import write_layer
from sandbox.images.oci import Settings, write_archive
from sandbox.images.root_filesystem import OWNERS, RAY_USER, Base
from tools.toolchain.paths import CHECKOUT

EXAMPLES = CHECKOUT / "examples"
LOCK = CHECKOUT / "requirements" / "ray.lock"
REGISTRY = "docker.io"
DASHBOARD_SECONDS = "180"
"""Time for the start of the dashboard (by default 60) and of its modules (30). On a busy machine Ray would
give up a module, and the head would never become ready (ray/dashboard/subprocesses/handle.py)."""
SETTINGS = Settings(
    entrypoint=[],
    command=["/bin/bash"],
    user=f"{RAY_USER}:{RAY_USER}",
    directory="/home/ray",
    environment={
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/home/ray",
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "RAY_DASHBOARD_STARTUP_TIMEOUT_S": DASHBOARD_SECONDS,
        "RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT": DASHBOARD_SECONDS,
    },
)
_FORMAT = "1"
"""Increment if the same packages result in a different layer."""
BYTES = 2 << 30
SECONDS = 50
_IMAGE = re.compile(r"(?m)^[ -]*image: (?P<name>rayproject/ray:\S+)$")
_SHEBANG = re.compile(rb"\A#!(?:[^\n]*python[^\n]*|/bin/sh\n'''exec' [^\n]*python[^\n]*\n' ''')\n")
"""The interpreter of an installed command, in one line or, if its path is long, in three of a shell."""


def ray(base: Base) -> Recipe:
    """Returns the recipe of the image, under every name by which examples start Ray."""
    names = tuple(f"{REGISTRY}/{name}" for name in named_in(path.read_text() for path in manifests()))

    def build(archive: Path) -> None:
        with TemporaryDirectory(prefix="unfinished-", dir=archive.parent) as temporary:
            tree = Path(temporary) / "root"
            add_packages(tree, base)
            (tree / "home" / "ray").mkdir(parents=True)
            layer = write_layer(Path(temporary) / "layer", tree, OWNERS)
            write_archive(archive, names, [base.layer(), layer], SETTINGS)

    key = key_of([_FORMAT, repr(SETTINGS), base.key, LOCK.read_bytes(), *names])
    return Recipe("ray", names, key, BYTES, SECONDS, build)


def manifests() -> list[Path]:
    """Returns the manifests of examples, in the order of their paths."""
    return sorted(EXAMPLES.rglob("*.yaml"))


def named_in(texts: Iterable[str]) -> list[str]:
    """Returns Ray's images that the manifests name, sorted, each once."""
    return sorted({match["name"] for text in texts for match in _IMAGE.finditer(text)})


def add_packages(tree: Path, base: Base) -> None:
    """Installs Ray as Debian's Python finds it, with its commands in /usr/local/bin."""
    packages = f"usr/local/lib/python{base.python.version}/dist-packages"
    install("ray", tree / packages, base.python.version)
    commands = tree / "usr" / "local" / "bin"
    commands.parent.mkdir(exist_ok=True)
    (tree / packages / "bin").rename(commands)
    for command in commands.iterdir():
        command.write_bytes(with_image_python(command.read_bytes()))
    base.python.compile(tree, packages)


def with_image_python(command: bytes) -> bytes:
    """Returns a command that runs with the image's Python instead of the machine's."""
    return _SHEBANG.sub(b"#!/usr/bin/python3\n", command, count=1)
