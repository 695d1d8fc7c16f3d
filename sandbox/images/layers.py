"""Layers of images: deterministic tar files of folders."""

import hashlib
import os
import stat
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_SET_ID = stat.S_ISUID | stat.S_ISGID


@dataclass(frozen=True)
class Layer:
    """A layer that is not compressed, so that its digest is also the digest of its content."""

    path: Path
    digest: str
    size: int


def write_layer(path: Path, tree: Path, owners: Mapping[str, int] | None = None) -> Layer:
    """Writes the content of a folder as a layer.

    owners: user ids, which are also group ids, of folders with their content, such as {"home/ray": 1000};
    everything else is root's. No file has the set-user-id or set-group-id bit, and all times are 0.
    """
    with tarfile.open(path, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for entry in _walk(tree):
            name = entry.relative_to(tree).as_posix()
            info = archive.gettarinfo(str(entry), name)
            _normalize(info, _owner(name, owners or {}))
            if info.isreg():
                with entry.open("rb") as content:
                    archive.addfile(info, content)
            else:
                archive.addfile(info)
    return read_layer(path)


def read_layer(path: Path) -> Layer:
    """Returns the layer in a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Layer(path, f"sha256:{digest}", path.stat().st_size)


def _walk(folder: Path) -> Iterator[Path]:
    """Yields everything below a folder in the order of names, a folder before its content."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        yield Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path))


def _owner(name: str, owners: Mapping[str, int]) -> int:
    for folder, owner in owners.items():
        if name == folder or name.startswith(f"{folder}/"):
            return owner
    return 0


def _normalize(info: tarfile.TarInfo, owner: int) -> None:
    info.uid = info.gid = owner
    info.uname = info.gname = ""
    info.mtime = 0
    info.mode &= ~_SET_ID
