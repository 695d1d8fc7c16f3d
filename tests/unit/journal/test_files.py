"""Files of the journal: one a day and a megabyte, bounded, each with its writer's name."""

import errno
import os
from pathlib import Path
from typing import Any, Self

import pytest

from muster.journal.files import JournalFiles, newest

DAY_MS = 86_400_000
NOON_MS = 20_000 * DAY_MS + DAY_MS // 2  # 2024-10-04


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_lines_of_a_day_are_in_one_file(tmp_path: Path) -> None:
    files = JournalFiles(tmp_path / "journal", "one")
    files.append(b"a\n", NOON_MS)
    files.append(b"b\nc\n", NOON_MS + 1_000)
    (name,) = names(tmp_path / "journal")
    assert name == "2024-10-04.one.0001.jsonl"
    assert (tmp_path / "journal" / name).read_bytes() == b"a\nb\nc\n"


def test_next_day_begins_a_file(tmp_path: Path) -> None:
    files = JournalFiles(tmp_path, "one")
    files.append(b"a\n", NOON_MS)
    files.append(b"b\n", NOON_MS + DAY_MS)
    assert names(tmp_path) == ["2024-10-04.one.0001.jsonl", "2024-10-05.one.0001.jsonl"]


def test_full_file_is_followed_by_another(tmp_path: Path) -> None:
    files = JournalFiles(tmp_path, "one", file_bytes_max=4)
    for _ in range(3):
        files.append(b"abc\n", NOON_MS)
    assert names(tmp_path) == [f"2024-10-04.one.000{n}.jsonl" for n in (1, 2, 3)]


def test_writers_do_not_share_files(tmp_path: Path) -> None:
    JournalFiles(tmp_path, "one").append(b"a\n", NOON_MS)
    JournalFiles(tmp_path, "one").append(b"b\n", NOON_MS)
    JournalFiles(tmp_path, "../two/x").append(b"c\n", NOON_MS)
    assert names(tmp_path) == [
        "2024-10-04..._two_x.0001.jsonl",
        "2024-10-04.one.0001.jsonl",
        "2024-10-04.one.0002.jsonl",
    ]


def test_oldest_files_are_deleted_and_others_are_left(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("kept\n")
    files = JournalFiles(tmp_path, "one", file_bytes_max=4, folder_bytes_max=12)
    for day in range(6):
        files.append(b"abc\n", NOON_MS + day * DAY_MS)
        assert sum(path.stat().st_size for path in tmp_path.glob("2024*")) <= 12
    assert names(tmp_path) == [*(f"2024-10-0{n}.one.0001.jsonl" for n in (7, 8, 9)), "notes.jsonl"]


def test_append_after_a_failed_one_begins_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The failed one may have written a part of a line."""
    files = JournalFiles(tmp_path, "one")
    files.append(b"a\n", NOON_MS)
    with monkeypatch.context() as broken:

        def fail(_: int) -> None:
            raise OSError("disk full")

        broken.setattr("os.fsync", fail)
        with pytest.raises(OSError, match="disk full"):
            files.append(b"b\n", NOON_MS)
    files.append(b"b\n", NOON_MS)
    assert names(tmp_path) == ["2024-10-04.one.0001.jsonl", "2024-10-04.one.0002.jsonl"]
    assert (tmp_path / "2024-10-04.one.0002.jsonl").read_bytes() == b"b\n"


class FullDisk:
    """Opens files as usual; appends to them find room for this many bytes in all."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, bytes_left: int) -> None:
        self.bytes_left = bytes_left
        self._open = Path.open
        monkeypatch.setattr(Path, "open", lambda path, mode: self.open(path, mode))

    def open(self, path: Path, mode: str) -> Any:
        opened = self._open(path, mode, buffering=0)
        return _OnFullDisk(self, opened) if mode == "ab" else opened


class _OnFullDisk:
    def __init__(self, disk: FullDisk, file: Any) -> None:
        self._disk, self._file = disk, file
        self.flush, self.fileno = file.flush, file.fileno

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, content: bytes) -> None:
        fits = content[: self._disk.bytes_left]
        self._disk.bytes_left -= len(fits)
        self._file.write(fits)
        if len(fits) < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_tries_on_a_full_disk_leave_no_empty_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failures are repeated twice a minute for days, and each file would take an inode."""
    files = JournalFiles(tmp_path, "one")
    files.append(b"first\n", NOON_MS)
    with monkeypatch.context() as broken:
        FullDisk(broken, bytes_left=len(b"second\nth"))
        for _ in range(5):
            with pytest.raises(OSError, match="No space left"):
                files.append(b"second\nthird\n", NOON_MS)
    files.append(b"second\nthird\n", NOON_MS)
    contents = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    assert contents == [b"first\nsecond\nth", b"second\nthird\n"]


def test_append_reaches_the_disk_before_it_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", synced.append)
    JournalFiles(tmp_path, "one").append(b"a\n", NOON_MS)
    assert len(synced) == 1


@pytest.mark.parametrize(
    ("bytes_max", "days"), [(3, ()), (4, ("09",)), (11, ("08", "09")), (99, ("07", "08", "09"))]
)
def test_newest_files_are_found_up_to_a_size(tmp_path: Path, bytes_max: int, days: tuple[str, ...]) -> None:
    (tmp_path / "notes.jsonl").write_text("not a journal\n")
    files = JournalFiles(tmp_path, "one")
    for day in (3, 4, 5):
        files.append(b"abc\n", NOON_MS + day * DAY_MS)
    expected = [f"2024-10-{day}.one.0001.jsonl" for day in days]
    assert [path.name for path in newest(tmp_path, bytes_max)] == expected
