"""Files, pipes and standard input: read whole, or refused within a bound."""

import io
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from muster.files import reading
from muster.files.errors import FileError
from muster.files.reading import Patience, opened_lines, read_bytes, read_text, read_text_or_stdin
from tests.unit.files.builders import PATHS, bad_input

QUICK = Patience(idle_s=0.05, total_s=0.2)
READABLE = ("more than a document may have", "a gzip bomb", "half a gzip file")
"""Files whose content is the problem."""


@pytest.mark.parametrize("name", [name for name in PATHS if name not in READABLE])
def test_a_path_that_leads_to_no_usable_file_is_an_error(name: str, tmp_path: Path) -> None:
    path = bad_input(name, tmp_path)
    with pytest.raises(FileError) as refused:
        read_bytes(path, "a stack file", patience=QUICK)
    assert str(refused.value).startswith(path)
    assert str(refused.value).count("expected") == 1


@pytest.mark.parametrize("name", PATHS)
def test_lines_of_such_a_path_are_an_error(name: str, tmp_path: Path) -> None:
    path = bad_input(name, tmp_path)
    with (
        pytest.raises(FileError, match="expected"),
        opened_lines(path, "a trace", patience=QUICK) as lines,
    ):
        for _ in lines:
            pass


def piped(write: Callable[[int], None]) -> str:
    """Returns the path of a pipe that a thread writes to."""
    read_end, write_end = os.pipe()
    threading.Thread(target=write, args=(write_end,), daemon=True).start()
    return f"/dev/fd/{read_end}"


def writer(content: bytes) -> Callable[[int], None]:
    def write(number: int) -> None:
        with os.fdopen(number, "wb") as file:
            file.write(content)

    return write


def test_a_process_substitution_is_read() -> None:
    content = b"line\n" * 100_000  # more than a pipe holds
    assert read_bytes(piped(writer(content)), "text", patience=Patience(5.0, 30.0)) == content
    with opened_lines(piped(writer(content)), "text") as lines:
        assert sum(1 for _ in lines) == 100_000


def test_a_named_pipe_waits_for_its_writer(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    threading.Timer(0.1, path.write_text, ("text",)).start()
    assert read_text(path, "text", patience=Patience(10.0, 10.0)) == "text"


def test_an_endless_pipe_is_an_error() -> None:
    def write(number: int) -> None:
        try:
            while True:
                os.write(number, b"\0" * 65_536)
        except BrokenPipeError:
            os.close(number)

    path = piped(write)
    with pytest.raises(FileError, match="more than 4 MiB"):
        read_bytes(path, "text")
    os.close(int(path.rpartition("/")[2]))


def drain(file: io.RawIOBase) -> None:
    """Reads a file a byte at a time."""
    while file.readinto(bytearray(1)):
        pass


def test_a_byte_now_and_then_does_not_prolong_the_time(tmp_path: Path) -> None:
    now_s = [0.0]

    def clock_s() -> float:
        now_s[0] += 0.1
        return now_s[0]

    path = tmp_path / "pipe"
    os.mkfifo(path)
    kept_open = os.open(path, os.O_RDWR)
    os.write(kept_open, b"x" * 60_000)
    pipe = reading._Pipe(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "pipe", Patience(5.0, 20.0, clock_s))
    with pytest.raises(FileError, match="no end within 20 s"):
        drain(pipe)
    assert now_s[0] < 30
    pipe.close()
    os.close(kept_open)


def test_a_pipe_is_refused_where_a_file_is_read_twice(tmp_path: Path) -> None:
    with pytest.raises(
        FileError,
        match=r"it is a pipe, which can be read only once; expected a stack file: give a regular file$",
    ):
        read_text(bad_input("a pipe without a writer", tmp_path), "a stack file", pipes=False)


@pytest.mark.parametrize("content", ["a: 1\n", "\ufeffa: 1\n"], ids=["plain", "with a byte order mark"])
def test_text_is_utf_8(content: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(content, encoding="utf-8")
    assert read_text(tmp_path / "file", "text") == "a: 1\n"


STDIN = {
    "a pipe": (writer(b"kind: RayJob\n"), "kind: RayJob\n"),
    "an endless one": (lambda number: None, "standard input: no byte within"),
}


@pytest.mark.parametrize("name", STDIN)
def test_standard_input(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write, answer = STDIN[name]
    with open(piped(write)) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        if name == "a pipe":
            assert read_text_or_stdin("-", "a manifest") == answer
        else:
            with pytest.raises(FileError, match=answer):
                read_text_or_stdin("-", "a manifest", QUICK)


def test_standard_input_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("text"))
    assert read_text_or_stdin("-", "a manifest") == "text"
