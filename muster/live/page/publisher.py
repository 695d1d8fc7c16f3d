"""Keeps the tables up to date, and sends what changes to every browser that listens."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, Protocol, TypeVar

import msgspec

from muster.cluster.cluster_state import ClusterState
from muster.live.page.tables import Patch, Tables, difference

P = ParamSpec("P")
R = TypeVar("R")

PAUSE_S_MIN = 0.25
PAUSE_SHARE = 1.0
"""Pauses after an update take this multiple of its time: a large cluster must not keep a processor busy."""
BACKLOG_MAX = 100  # messages that a slow browser may be behind before it must reconnect
LISTENERS_MAX = 100
FIRST = "queues"  # the table that is sent first


class Board(Protocol):
    """The tables of a cluster."""

    def refresh(self, cluster: ClusterState, now_ms: int) -> Tables:
        """Sets a new state; returns its tables."""


class TooManyListeners(Exception):
    """No further browser can be served."""


class Publisher:
    """Computes in a thread, and answers in another, so that neither waits for an update."""

    def __init__(self, board: Board, cluster: Callable[[], ClusterState], now_ms: Callable[[], int]) -> None:
        self._board, self._cluster, self._now_ms = board, cluster, now_ms
        self._changed = asyncio.Event()
        self._tables: Tables = {}
        self._first: tuple[bytes, bytes] | None = None  # the tables as messages, shared by listeners
        self._took_s, self._ended_s = 0.0, 0.0  # of the last update
        self._listeners: set[asyncio.Queue[bytes | None]] = set()
        self._open = 0  # listeners with a running handler, including dropped listeners that are still sending
        self._updates, self._answers = ThreadPoolExecutor(1, "updates"), ThreadPoolExecutor(1, "answers")

    @property
    def tables(self) -> Tables:
        """The latest tables."""
        return self._tables

    def changed(self) -> None:
        """Notes that an object has changed."""
        self._changed.set()

    async def answered(self, work: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
        """Returns the result of `work`, which reads the board; runs one call at a time."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._answers, lambda: work(*arguments, **named))

    async def run(self) -> None:
        """Publishes changes until it is cancelled."""
        while True:
            await self._changed.wait()
            rested_s = time.monotonic() - self._ended_s
            await asyncio.sleep(max(PAUSE_S_MIN, PAUSE_SHARE * self._took_s - rested_s))
            await self.update()

    async def update(self) -> None:
        """Computes the tables, and sends what has changed in them."""
        self._changed.clear()
        began_s = time.monotonic()
        loop, state = asyncio.get_running_loop(), (self._cluster(), self._now_ms())
        after = await loop.run_in_executor(self._updates, self._board.refresh, *state)
        self._ended_s = time.monotonic()
        self._took_s = self._ended_s - began_s
        patch = difference(self._tables, after)
        self._tables, self._first = after, None
        if patch:
            self._send(message(patch))

    def _send(self, text: bytes) -> None:
        for listener in list(self._listeners):
            try:
                listener.put_nowait(text)
            except asyncio.QueueFull:
                self._listeners.discard(listener)
                listener.get_nowait()
                listener.put_nowait(None)

    @contextlib.contextmanager
    def listening(self) -> Iterator["asyncio.Queue[bytes | None]"]:
        """Yields a queue of messages: all tables, the queues' first, then changes; None: it was too slow.

        Raises: TooManyListeners."""
        if self._open >= LISTENERS_MAX:
            raise TooManyListeners
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(BACKLOG_MAX)
        for text in self._first_messages():
            queue.put_nowait(text)
        self._listeners.add(queue)
        self._open += 1
        try:
            yield queue
        finally:
            self._open -= 1
            self._listeners.discard(queue)

    def _first_messages(self) -> tuple[bytes, bytes]:
        if self._first is None:
            first = {name: rows for name, rows in self._tables.items() if name == FIRST}
            later = {name: rows for name, rows in self._tables.items() if name != FIRST}
            self._first = message(Patch(first), "tables"), message(Patch(later))
        return self._first

    def close(self) -> None:
        """Ends the threads."""
        for pool in (self._updates, self._answers):
            pool.shutdown(wait=False, cancel_futures=True)


def message(patch: Patch, event: str = "patch") -> bytes:
    """Returns a server-sent event; encoded JSON contains no line breaks."""
    return b"event: %s\ndata: %s\n\n" % (event.encode(), msgspec.json.encode(patch.document()))
