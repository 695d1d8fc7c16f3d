"""Files that commands write: whole, or an error that names the path."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from muster.files.errors import FileError
from muster.files.writing import check_writable, write_text
from tests.unit.files.builders import bad_input

WRITE: dict[str, Callable[[Path], None]] = {
    "written": lambda path: write_text(path, "text"),
    "checked first": check_writable,
}
BAD = ("below a file", "NUL in the name", "a long name", "a directory", "a pipe without a writer", "a socket")


@pytest.mark.parametrize("how", WRITE)
@pytest.mark.parametrize("name", BAD)
def test_a_path_that_cannot_be_written_is_an_error(name: str, how: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="give a path that can be written"):
        WRITE[how](Path(bad_input(name, tmp_path)))


def test_a_full_disk_is_an_error() -> None:
    with pytest.raises(FileError, match="/dev/full: No space left on device"):
        write_text(Path("/dev/full"), "text")


def test_a_file_is_replaced_and_keeps_its_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "below" / "file"
    check_writable(path)
    write_text(path, "a longer text")
    check_writable(path)
    assert path.read_text() == "a longer text"
    write_text(path, "ä\r\n")
    assert path.read_bytes() == "ä\r\n".encode()


def test_a_pipe_with_a_reader_is_written(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write_text(path, "text")
    assert os.read(reader, 100) == b"text"
    os.close(reader)
