"""The image of Muster's controller and page: the repository's Dockerfile, on a base of Debian packages."""

from pathlib import Path
from tempfile import TemporaryDirectory

from sandbox.images.buildah import build as build_dockerfile
from sandbox.images.image import Recipe, key_of, tree_key
from sandbox.images.oci import Settings, write_archive
from sandbox.images.root_filesystem import Base
from tools.toolchain.paths import CHECKOUT

NAME = "docker.io/library/muster-controller:sandbox"
"""The complete name of muster-controller:sandbox, which the sandbox's stack declares."""
CORE = "interpreted"
"""Decides like the compiled core, which needs a C compiler in the base image and takes minutes to build."""
SOURCES = ("Dockerfile", ".dockerignore", "requirements/controller.lock")
BYTES = 900 << 20
SECONDS = 75
_FORMAT = "1"
"""Increment if the same sources result in a different image."""
_BASE_SETTINGS = Settings([], ["python3"], environment={"PATH": "/usr/local/bin:/usr/bin:/bin"})


def controller(base: Base) -> Recipe:
    """Returns the recipe of the image."""

    def build(archive: Path) -> None:
        with TemporaryDirectory(prefix="unfinished-", dir=archive.parent) as temporary:
            python = Path(temporary) / "python.tar"
            write_archive(python, ["localhost/python:base"], [base.layer()], _BASE_SETTINGS)
            build_dockerfile(archive, NAME, CHECKOUT, python, {"CORE": CORE})

    sources = [(CHECKOUT / name).read_bytes() for name in SOURCES]
    key = key_of([_FORMAT, base.key, CORE, tree_key(CHECKOUT / "muster"), *sources])
    return Recipe("muster-controller", (NAME,), key, BYTES, SECONDS, build)
