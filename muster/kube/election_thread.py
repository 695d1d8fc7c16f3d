"""Leader election in a thread of its own: a pass that computes for longer than a Lease lasts keeps it.

client-go renews in a goroutine of its own for the same reason. Whether passes make progress is not the
election's concern: the liveness probe restarts a process without any.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from muster.kube.lease import Election


class ElectionThread(Election):
    """An election whose requests are made by the event loop of another thread. Its times are floats that this
    thread only reads. `begun` starts and ends the thread."""

    _loop: asyncio.AbstractEventLoop

    @asynccontextmanager
    async def begun(self) -> AsyncIterator[None]:
        """Runs the thread until the end of the block, and then closes the election's connections."""
        self._loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self._loop.run_forever, name="election", daemon=True)
        thread.start()
        try:
            yield
        finally:
            await self._there(self._kube.close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()

    async def acquire(self) -> None:
        await self._there(super().acquire())

    async def renew(self) -> None:
        await self._there(super().renew())

    async def release(self) -> None:
        await self._there(super().release())

    async def _there(self, work: Coroutine[Any, Any, None]) -> None:
        """Waits for work of the thread; if this is cancelled, the work is."""
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))
