"""Threads with an event loop of their own, which runs while a pass computes in the main loop.

Streams: the API server ends a watch that is not read; it waits about a second for a slow one
(k8s.io/apiserver pkg/storage/cacher, time_budget.go). The thread only reads; the main loop decodes.

Leader election: a pass that computes for longer than a Lease lasts keeps the Lease. client-go renews in a
separate goroutine for the same reason. The election does not check that passes make progress: the liveness
probe restarts a process that makes none.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar

import uvloop

from muster.kube.access import Access
from muster.kube.connection import Connection, Request
from muster.kube.lease import Election

R = TypeVar("R")


class LoopThread:
    """Runs coroutines between the beginning and the end of `begun`."""

    _loop: asyncio.AbstractEventLoop

    @asynccontextmanager
    async def begun(self, name: str, close: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
        """Runs the thread until the end of the block; then cancels its remaining tasks, and calls `close`."""
        self._loop = uvloop.new_event_loop()
        thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        thread.start()
        try:
            yield
        finally:
            await self.call(_end(close))
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()

    async def call(self, work: Coroutine[Any, Any, R]) -> R:
        """Runs the coroutine in the thread; returns its result. If this is cancelled, the coroutine is."""
        return await asyncio.wrap_future(self.start(work))

    def start(self, work: Coroutine[Any, Any, R]) -> Future[R]:
        """Runs a coroutine in the loop's thread; returns its future result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)


async def _end(close: Callable[[], Awaitable[None]]) -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await close()


Arrived = asyncio.Queue[bytes | None]
"""Pieces, after an empty one when the request was accepted; None after the last."""


class StreamThread(Connection):
    """A pool of connections in the loop of a thread, which `begun` starts and ends. Raises: NoAnswer,
    StatusError."""

    def __init__(self, access: Access) -> None:
        super().__init__(access)
        self._thread = LoopThread()

    def begun(self) -> AbstractAsyncContextManager[None]:
        """Runs the thread until the end of the block, and then closes its connections."""
        return self._thread.begun("streams", self.close)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[AsyncIterator[bytes]]:
        main, arrived = asyncio.get_running_loop(), Arrived()
        reading = self._thread.start(self._read(request, main, arrived))
        try:
            if await arrived.get() is None:
                await asyncio.wrap_future(reading)
            yield _pieces(arrived, reading)
        finally:
            reading.cancel()

    async def _read(self, request: Request, main: asyncio.AbstractEventLoop, arrived: Arrived) -> None:
        try:
            async with super().stream(request) as pieces:
                main.call_soon_threadsafe(arrived.put_nowait, b"")
                async for piece in pieces:
                    main.call_soon_threadsafe(arrived.put_nowait, piece)
        finally:
            main.call_soon_threadsafe(arrived.put_nowait, None)


async def _pieces(arrived: Arrived, reading: Future[None]) -> AsyncIterator[bytes]:
    while (piece := await arrived.get()) is not None:
        yield piece
    await asyncio.wrap_future(reading)


class ElectionThread(Election):
    """An election that sends its requests in a thread, so that a long pass does not delay renewals. The main
    thread only reads its times, which are floats. `begun` starts and ends the thread."""

    _thread: LoopThread

    def begun(self) -> AbstractAsyncContextManager[None]:
        """Runs the thread until the end of the block, and then closes the election's connections."""
        self._thread = LoopThread()
        return self._thread.begun("election", self._kube.close)

    async def acquire(self) -> None:
        await self._thread.call(super().acquire())

    async def renew(self) -> None:
        await self._thread.call(super().renew())

    async def release(self) -> None:
        await self._thread.call(super().release())
