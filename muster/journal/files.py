"""Files of a journal in a folder, rotated daily and at one megabyte; the oldest are deleted.

A process only appends to files that it created, as a bucket mounted with Cloud Storage FUSE keeps a single
writer's version of an object. An append returns once it is on disk or uploaded, which takes longer for larger
files.
"""

import contextlib
import os
import re
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

FILE_BYTES_MAX = 1 << 20
FOLDER_BYTES_MAX = 1 << 28  # 256 MiB, about half a million workloads

_NAME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\..+\.[0-9]{4,}\.jsonl")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


def newest(folder: Path, bytes_max: int) -> list[Path]:
    """Returns the newest files with at most `bytes_max` bytes in total, oldest first. Raises: OSError."""
    paths: list[Path] = []
    for path in sorted((p for p in folder.iterdir() if _NAME.fullmatch(p.name)), reverse=True):
        bytes_max -= path.stat().st_size
        if bytes_max < 0:
            break
        paths.insert(0, path)
    return paths


class JournalFiles:
    """Appends to the files of one writer. `writer` distinguishes processes that share the folder."""

    def __init__(
        self,
        folder: Path,
        writer: str,
        file_bytes_max: int = FILE_BYTES_MAX,
        folder_bytes_max: int = FOLDER_BYTES_MAX,
    ) -> None:
        self._folder, self._writer = folder, _UNSAFE.sub("_", writer)
        self._file_bytes_max, self._folder_bytes_max = file_bytes_max, folder_bytes_max
        self._day = ""
        self._path: Path | None = None  # None: the next append creates a file

    def append(self, lines: bytes, now_ms: int) -> None:
        """Appends complete lines. Raises: OSError; part of the lines may have been written, and the next
        append creates a file."""
        day = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y-%m-%d")
        path, self._path = self._path, None
        if path is None or day != self._day or path.stat().st_size >= self._file_bytes_max:
            path = self._begin(day)
        try:
            with path.open("ab") as file:
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            _delete_if_empty(path)  # on a full disk, each retry would create one
            raise
        self._day, self._path = day, path

    def _begin(self, day: str) -> Path:
        """Creates a file, and deletes the oldest files if the folder is too large."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._delete_oldest()
        for number in count(1):
            path = self._folder / f"{day}.{self._writer}.{number:04}.jsonl"
            try:
                path.open("xb").close()
            except FileExistsError:
                continue
            return path
        raise AssertionError("count() ends")

    def _delete_oldest(self) -> None:
        files = (path for path in sorted(self._folder.iterdir()) if _NAME.fullmatch(path.name))
        sizes = {path: path.stat().st_size for path in files}
        total = sum(sizes.values())
        for path, size in sizes.items():
            if total <= self._folder_bytes_max - self._file_bytes_max:
                return
            path.unlink(missing_ok=True)
            total -= size


def _delete_if_empty(path: Path) -> None:
    with contextlib.suppress(OSError):
        if path.stat().st_size == 0:
            path.unlink()
