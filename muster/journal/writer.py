"""Writes a journal in a separate thread, so that a slow or broken disk does not block the controller."""

import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Protocol

log = logging.getLogger(__name__)

LINES_MAX = 10_000  # in the queue; further lines are dropped
RETRY_S = 30.0
STOP_S = 5.0


class Files(Protocol):
    """The files of a journal."""

    def append(self, lines: bytes, now_ms: int) -> None:
        """Appends lines and syncs them. Raises: OSError."""


class JournalWriter:
    """Queues lines and writes them in its thread. `lost` is called with the number of dropped records,
    `failed` after each failed write; both may be called from the writer's thread."""

    def __init__(
        self,
        files: Files,
        lost: Callable[[int], None],
        failed: Callable[[], None],
        retry_s: float = RETRY_S,
        lines_max: int = LINES_MAX,
    ) -> None:
        self._files, self._lost, self._failed, self._retry_s = files, lost, failed, retry_s
        self._lines: queue.Queue[bytes] = queue.Queue(lines_max)
        self._stopping = threading.Event()
        self._is_broken = False
        # A daemon thread: a write that hangs must not keep the process alive.
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def put(self, line: bytes) -> None:
        """Queues a line; drops it if the queue is full."""
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self._lost(1)

    def stop(self, timeout_s: float = STOP_S) -> None:
        """Waits up to `timeout_s` for the last lines to be written."""
        self._stopping.set()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        batch: list[bytes] = []
        while not (self._stopping.is_set() and self._lines.empty() and not batch):
            batch += self._queued(self._lines.maxsize - len(batch), wait=not batch)
            if not batch:
                continue
            if self._append(batch):
                batch = []
            elif self._stopping.wait(self._retry_s):
                self._lost(len(batch) + self._lines.qsize())
                return

    def _queued(self, lines_max: int, *, wait: bool) -> list[bytes]:
        """Returns up to `lines_max` queued lines; waits up to a second for the first."""
        lines: list[bytes] = []
        try:
            if wait:
                lines.append(self._lines.get(timeout=1))
            while len(lines) < lines_max:
                lines.append(self._lines.get_nowait())
        except queue.Empty:
            pass
        return lines

    def _append(self, batch: list[bytes]) -> bool:
        try:
            self._files.append(b"".join(batch), time.time_ns() // 1_000_000)
        except OSError as error:
            self._failed()
            if not self._is_broken:
                log.error("cannot write the journal, will retry: %s", error)
            self._is_broken = True
            return False
        if self._is_broken:
            log.info("the journal can be written again")
        self._is_broken = False
        return True
