"""The journal's writer: a separate thread, retries, and bounded memory."""

import logging
import threading

import pytest

from muster.journal.writer import JournalWriter

WAIT_S = 10.0  # a bound; nothing waits for so long


class Disk:
    """Takes what is appended, unless it is broken; `entered` is set once an append begins, which waits for
    `free`."""

    def __init__(self, failures: int = 0) -> None:
        self.failures, self.written = failures, b""
        self.entered, self.free = threading.Event(), threading.Event()
        self.free.set()

    def append(self, lines: bytes, now_ms: int) -> None:
        self.entered.set()
        assert self.free.wait(WAIT_S)
        if self.failures:
            self.failures -= 1
            raise OSError("disk full")
        self.written += lines


class Counts:
    def __init__(self) -> None:
        self.lost, self.failures = 0, 0

    def lose(self, records: int) -> None:
        self.lost += records

    def fail(self) -> None:
        self.failures += 1


def writer(disk: Disk, counts: Counts, retry_s: float = 0.01, lines_max: int = 10_000) -> JournalWriter:
    journal_writer = JournalWriter(disk, counts.lose, counts.fail, retry_s, lines_max)
    journal_writer.start()
    return journal_writer


def test_lines_are_written_in_order_before_it_stops() -> None:
    disk, counts = Disk(), Counts()
    journal = writer(disk, counts)
    for number in range(100):
        journal.put(b"%d\n" % number)
    journal.stop()
    assert disk.written == b"".join(b"%d\n" % number for number in range(100))
    assert (counts.lost, counts.failures) == (0, 0)


def test_failed_write_is_retried_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    disk, counts = Disk(failures=3), Counts()
    written = threading.Event()
    append = disk.append

    def appended(lines: bytes, now_ms: int) -> None:
        append(lines, now_ms)
        written.set()

    disk.append = appended  # type: ignore[method-assign]
    journal = writer(disk, counts)
    journal.put(b"a\n")
    assert written.wait(WAIT_S)
    journal.stop()
    assert disk.written == b"a\n"
    assert (counts.lost, counts.failures) == (0, 3)
    assert [record.message for record in caplog.records] == [
        "cannot write the journal, will retry: disk full",
        "the journal can be written again",
    ]


def test_put_never_waits_for_a_disk_that_hangs() -> None:
    disk, counts = Disk(), Counts()
    disk.free.clear()
    journal = writer(disk, counts, lines_max=3)
    journal.put(b"0\n")
    assert disk.entered.wait(WAIT_S)
    for number in range(1, 9):
        journal.put(b"%d\n" % number)
    assert counts.lost == 5
    disk.free.set()
    journal.stop()
    assert disk.written == b"0\n1\n2\n3\n"


def test_stop_gives_up_on_a_broken_disk() -> None:
    disk, counts = Disk(failures=1_000_000), Counts()
    journal = writer(disk, counts, retry_s=WAIT_S)
    journal.put(b"a\n")
    assert disk.entered.wait(WAIT_S)
    journal.stop()
    assert (disk.written, counts.lost) == (b"", 1)


def test_a_long_outage_keeps_as_many_lines_as_may_wait() -> None:
    disk, counts = Disk(failures=20), Counts()
    journal = writer(disk, counts, retry_s=0.001, lines_max=4)
    for number in range(200):
        journal.put(b"%d\n" % number)
    journal.stop()
    assert counts.lost >= 200 - 2 * 4 - disk.written.count(b"\n")
    assert disk.written.count(b"\n") + counts.lost == 200
