"""Archives of images in the cache, each built once for its inputs."""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tools.toolchain.paths import cache_directory

KEY_DIGITS = 16
ARCHIVES_OF_AN_IMAGE = 3
"""The number of archives of an image in the cache, as several checkouts can share it."""


@dataclass(frozen=True)
class Image:
    """An image by the name that pods use, with its registry, and the archive that contains it.

    An archive can contain several names; import each archive once.
    """

    name: str
    archive: Path


@dataclass(frozen=True)
class Recipe:
    """An archive to build: the names of its image, and a key that changes with every input.

    `build` writes the archive to a path. `bytes` estimates the disk that the build needs, its temporary files
    included, and `seconds` its duration on two cores, for the progress line only.
    """

    title: str
    names: tuple[str, ...]
    key: str
    bytes: int
    seconds: int
    build: Callable[[Path], None]

    @property
    def archive(self) -> Path:
        """The place of the archive in the cache."""
        return images_directory() / f"{self.title}-{self.key}.tar"

    @property
    def images(self) -> list[Image]:
        """The image under each of its names."""
        return [Image(name, self.archive) for name in self.names]


def images_directory() -> Path:
    """Returns the folder of all archives and of their shared parts."""
    return cache_directory() / "images"


def ensure_archive(recipe: Recipe) -> bool:
    """Builds the archive if it does not exist; returns whether it was built. The caller holds the lock."""
    if recipe.archive.exists():
        recipe.archive.touch()
        return False
    unfinished = recipe.archive.with_name(f"unfinished-{recipe.archive.name}")
    try:
        recipe.build(unfinished)
        os.replace(unfinished, recipe.archive)
    finally:
        unfinished.unlink(missing_ok=True)
    remove_unused(f"{recipe.title}-*.tar")
    return True


def remove_unused(pattern: str) -> None:
    """Removes old matching files, by last use: each change of the controller adds an archive."""
    files = sorted(images_directory().glob(pattern), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[ARCHIVES_OF_AN_IMAGE:]:
        path.unlink()


def remove_unfinished(folder: Path) -> None:
    """Removes the files of killed runs. The caller holds the lock of the folder."""
    for path in folder.glob("unfinished-*"):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def key_of(parts: Iterable[bytes | str]) -> str:
    """Returns a digest of the parts, in their order; parts are not joined, so each boundary counts."""
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.hexdigest()[:KEY_DIGITS]


def tree_key(folder: Path) -> str:
    """Returns a digest of the files of a folder, byte code left out, with their paths."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    return key_of(part for path in files for part in (path.relative_to(folder).as_posix(), path.read_bytes()))
