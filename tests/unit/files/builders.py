"""Paths and contents that no command can use."""

import gzip
import os
import socket
from collections.abc import Callable
from functools import cache
from pathlib import Path

from muster.files.reading import DOCUMENT_BYTES_MAX, LINES_BYTES_MAX


def _file(folder: Path, name: str, content: bytes) -> str:
    path = folder / name
    path.write_bytes(content)
    return str(path)


def _sparse(folder: Path) -> str:
    path = folder / "huge"
    with path.open("wb") as file:
        file.truncate(2 * LINES_BYTES_MAX)
    return str(path)


def _pipe(folder: Path) -> str:
    path = folder / "pipe"
    os.mkfifo(path)
    return str(path)


def _socket(folder: Path) -> str:
    path = os.path.relpath(folder / "s")  # at most 107 characters
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(path)
    return str(folder / "s")


def _loop(folder: Path) -> str:
    (folder / "loop").symlink_to(folder / "loop")
    return str(folder / "loop")


@cache
def _bomb() -> bytes:
    return gzip.compress(b"\0" * (64 << 20))


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGES = "a: &a {x: 1}\n" + "".join(
    f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 9)}]}}\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)

TEXTS: dict[str, bytes] = {
    "deep lists": b"[" * 200_000,
    "deep mappings": b"{a: " * 50_000,
    "deep blocks": b"- " * 50_000,
    "an alias bomb": BOMB.encode(),
    "a bomb of merges": MERGES.encode(),
    "a list in itself": b"&a [*a]",
    "a number base 60": b"a: " + b"1:" * 500_000 + b"1",
    "a number of 5,000 digits": b"a: " + b"1" * 5_000,
    "no boolean": b"a: !!bool maybe",
    "no date": b"a: 2001-99-99",
    "no timestamp": b"a: !!timestamp later",
    "a code object": b"!!python/object/apply:os.system [id]",
    "NUL": b"a: b\0c",
    "NUL only": b"\0" * 1_000,
    "UTF-16": "a: b\n".encode("utf-16"),
    "Latin-1": "a: ä\n".encode("latin-1"),
    "not closed": b"a: [",
    "a megabyte without a line end": b"\x01" * (1 << 20) + b"\x01",
}
"""Contents that are no YAML that can be used."""

PATHS: dict[str, Callable[[Path], str]] = {
    "missing": lambda folder: str(folder / "missing"),
    "below a file": lambda folder: f"{_file(folder, 'file', b'x')}/below",
    "an empty name": lambda _: "",
    "NUL in the name": lambda _: "a\0b",
    "a long name": lambda folder: str(folder / ("a" * 300)),
    "a directory": str,
    "/dev/zero": lambda _: "/dev/zero",
    "/dev/urandom": lambda _: "/dev/urandom",
    "/dev/null": lambda _: "/dev/null",
    "a pipe without a writer": _pipe,
    "a socket": _socket,
    "a symbolic link to itself": _loop,
    "a huge file": _sparse,
    "more than a document may have": lambda folder: _file(folder, "large", b"#" * (DOCUMENT_BYTES_MAX + 1)),
    "a gzip bomb": lambda folder: _file(folder, "bomb.jsonl.gz", _bomb()),
    "half a gzip file": lambda folder: _file(folder, "half.gz", gzip.compress(b"x" * 1_000)[:-12]),
}
"""Paths that lead to no file that can be used."""


def bad_input(name: str, folder: Path) -> str:
    """Returns the path of a bad input, which is created in the folder."""
    return PATHS[name](folder) if name in PATHS else _file(folder, "content.yaml", TEXTS[name])


BAD_INPUTS = (*PATHS, *TEXTS)
