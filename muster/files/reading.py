"""Reads files that users name: regular files and pipes, never devices, of a bounded size and in bounded time.

A pipe may be a process substitution (`<(command)`, /dev/fd/N) or a named pipe. It is read without blocking,
as a pipe without a writer would block forever.
"""

import codecs
import gzip
import io
import os
import select
import stat
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from muster.files.errors import FileError

MIB = 1 << 20
DOCUMENT_BYTES_MAX = 4 * MIB  # one manifest, stack file, kubeconfig or patch; the API server takes 3 MiB
MANIFESTS_BYTES_MAX = 64 * MIB
LINES_BYTES_MAX = 4096 * MIB  # of a trace, before and after decompression
LINE_LENGTH_MAX = MIB
LINES_MAX = 20_000_000
GZIP = ".gz"
STDIN = "-"


@dataclass(frozen=True)
class Patience:
    """Timeouts for reading a pipe."""

    idle_s: float = 30.0  # without a byte
    total_s: float = 600.0
    clock_s: Callable[[], float] = time.monotonic


PATIENCE = Patience()


def read_bytes(
    path: str | Path,
    expected: str,
    *,
    bytes_max: int = DOCUMENT_BYTES_MAX,
    pipes: bool = True,
    patience: Patience | None = None,
) -> bytes:
    """Returns the content of a file. `expected` describes the file for messages, such as "a kubeconfig";
    `pipes` allows pipes, which can be read only once. Raises: FileError."""
    with _opened(path, expected, bytes_max, pipes, patience) as file:
        return _all_of(file, str(path), bytes_max)


def read_text(
    path: str | Path,
    expected: str,
    *,
    bytes_max: int = DOCUMENT_BYTES_MAX,
    pipes: bool = True,
    patience: Patience | None = None,
) -> str:
    """Returns the content of a text file in UTF-8, with its line ends. Raises: FileError."""
    content = read_bytes(path, expected, bytes_max=bytes_max, pipes=pipes, patience=patience)
    return decoded(content, str(path))


def read_text_or_stdin(name: str, expected: str, patience: Patience | None = None) -> str:
    """Returns the content of a text file, or of standard input if its name is `-`. Raises: FileError."""
    if name != STDIN:
        return read_text(name, expected, patience=patience)
    where = "standard input"
    try:
        number = sys.stdin.fileno()
    except OSError:  # an object in memory instead of a file
        return sys.stdin.read(DOCUMENT_BYTES_MAX)
    if sys.stdin.isatty():  # the user types: any pause is allowed
        return decoded(_all_of(sys.stdin.buffer, where, DOCUMENT_BYTES_MAX), where)
    with io.BufferedReader(_Pipe(os.dup(number), where, patience or PATIENCE)) as file:
        return decoded(_all_of(file, where, DOCUMENT_BYTES_MAX), where)


@contextmanager
def opened_lines(
    path: str | Path, expected: str, *, pipes: bool = True, patience: Patience | None = None
) -> Iterator[Iterator[str]]:
    """Yields the lines of a text file, compressed if its name ends with .gz. Bytes that are no UTF-8 are
    replaced: they may be in a name. Raises: FileError, also while lines are read."""
    where = str(path)
    try:
        with _opened(path, expected, LINES_BYTES_MAX, pipes, patience) as file:
            content = gzip.GzipFile(fileobj=file) if where.endswith(GZIP) else file
            text = io.TextIOWrapper(cast("BinaryIO", content), encoding="utf-8-sig", errors="replace")
            yield _lines(text, where)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        problem = f"{where}: {error}; expected a whole gzip file: compress or copy it again"
        raise FileError(problem) from error
    except OSError as error:
        raise FileError(f"{where}: {error.strerror or error}; expected {expected}") from error


def decoded(content: bytes, where: str) -> str:
    """Returns text in UTF-8, without a byte order mark. Raises: FileError."""
    try:
        text = content.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        raise FileError(
            f"{where}: byte {error.start:,} is not UTF-8; expected UTF-8 text: convert it, such as with iconv"
        ) from error
    if (position := text.find("\0")) >= 0:
        raise FileError(f"{where}: character {position:,} is NUL; expected text in UTF-8")
    return text


def _lines(text: io.TextIOWrapper, where: str) -> Iterator[str]:
    length = 0
    for number in range(1, LINES_MAX + 1):
        line = text.readline(LINE_LENGTH_MAX + 1)
        if not line:
            return
        length += len(line)
        if len(line) > LINE_LENGTH_MAX:
            raise FileError(
                f"{where}: line {number:,} has more than {LINE_LENGTH_MAX:,} characters; expected a text file"
            )
        if length > LINES_BYTES_MAX:
            break
        yield line
    raise FileError(
        f"{where}: more than {LINES_MAX:,} lines or {LINES_BYTES_MAX // MIB:,} MiB; expected less: split it"
    )


@contextmanager
def _opened(
    path: str | Path, expected: str, bytes_max: int, pipes: bool, patience: Patience | None
) -> Iterator[BinaryIO]:
    """Opens a regular file or a pipe. The kind is checked before it is opened, as opening a device can have
    effects, and again afterwards, as the path may then refer to another file."""
    where = str(path)
    try:
        _check(os.stat(path), where, expected, bytes_max, pipes)
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except FileError:
        raise
    except FileNotFoundError:
        raise FileError(f"{where}: No such file or directory; expected {expected}") from None
    except (OSError, ValueError) as error:  # ValueError: NUL in the path
        raise FileError(
            f"{where}: {getattr(error, 'strerror', None) or error}; expected {expected}"
        ) from None
    try:
        status = os.fstat(number)
        _check(status, where, expected, bytes_max, pipes)
    except BaseException:
        os.close(number)
        raise
    raw = _Pipe(number, where, patience or PATIENCE) if stat.S_ISFIFO(status.st_mode) else io.FileIO(number)
    with io.BufferedReader(raw) as file:
        yield file


_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFIFO: "a pipe, which can be read only once",
}


def _check(status: os.stat_result, where: str, expected: str, bytes_max: int, pipes: bool) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind != stat.S_IFREG and not (pipes and kind == stat.S_IFIFO):
        allowed = "a regular file or a pipe" if pipes else "a regular file"
        raise FileError(f"{where}: it is {_KINDS.get(kind, 'no file')}; expected {expected}: give {allowed}")
    if status.st_size > bytes_max:
        raise _too_large(where, bytes_max)


def _all_of(file: BinaryIO, where: str, bytes_max: int) -> bytes:
    try:
        content = file.read(bytes_max + 1)
    except OSError as error:
        raise FileError(f"{where}: {error.strerror or error}") from error
    if len(content) > bytes_max:
        raise _too_large(where, bytes_max)
    return content


def _too_large(where: str, bytes_max: int) -> FileError:
    return FileError(f"{where} has more than {bytes_max // MIB:,} MiB; expected at most that")


class _Pipe(io.RawIOBase):
    """The read end of a pipe, which waits for bytes as long as its patience lasts. Owns the descriptor."""

    def __init__(self, number: int, where: str, patience: Patience) -> None:
        self._number, self._where, self._patience = number, where, patience
        self._until_s = patience.clock_s() + patience.total_s

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._number

    def readinto(self, buffer: Any) -> int:
        idle_until_s = min(self._patience.clock_s() + self._patience.idle_s, self._until_s)
        poll = select.poll()
        poll.register(self._number, select.POLLIN)
        while True:
            left_s = idle_until_s - self._patience.clock_s()
            if left_s <= 0:
                raise FileError(
                    f"{self._where}: no byte within {self._patience.idle_s:g} s, or no end within "
                    f"{self._patience.total_s:g} s; expected a pipe that a command writes to and closes: "
                    "write to a file first"
                )
            if poll.poll(1000 * left_s):
                try:
                    return os.readv(self._number, [buffer])
                except BlockingIOError:  # another process was faster
                    continue

    def close(self) -> None:
        if not self.closed:
            os.close(self._number)
        super().close()
