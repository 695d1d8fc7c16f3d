"""Streams that a separate thread reads: the API server ends a watch that is not read while a pass computes.

It waits about a second for a slow watch (k8s.io/apiserver pkg/storage/cacher, time_budget.go). The thread
only reads; the main loop decodes.
"""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from muster.kube.access import Access
from muster.kube.connection import Connection, Request
from muster.kube.loop_thread import LoopThread

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
