"""Writes files that users name."""

import os
from pathlib import Path

from muster.files.errors import FileError


def write_text(path: Path, text: str) -> None:
    """Writes a text file in UTF-8, with the line ends of the text. Raises: FileError."""
    try:
        with os.fdopen(_open(path, os.O_TRUNC), "wb") as file:
            file.write(text.encode())
    except (OSError, ValueError) as error:  # ValueError: NUL in the path
        raise _unwritable(path, error) from error


def check_writable(path: Path) -> None:
    """Creates the file with its folder unless it exists, so that a wrong path costs no computation.

    Raises: FileError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(_open(path, 0))
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from error


def _open(path: Path, flags: int) -> int:
    """Returns a descriptor. A pipe without a reader is an error (ENXIO), instead of waiting for one."""
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC | flags, 0o666)
    os.set_blocking(number, True)
    return number


def _unwritable(path: Path, error: Exception) -> FileError:
    problem = getattr(error, "strerror", None) or error
    return FileError(f"{path}: {problem}; give a path that can be written")
