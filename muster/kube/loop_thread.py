"""An event loop in a separate thread, which runs while the main loop computes."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import uvloop

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
        return asyncio.run_coroutine_threadsafe(work, self._loop)


async def _end(close: Callable[[], Awaitable[None]]) -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await close()
