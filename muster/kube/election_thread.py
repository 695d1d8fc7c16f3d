"""Leader election in a separate thread: a pass that computes for longer than a Lease lasts keeps the Lease.

client-go renews in a separate goroutine for the same reason. The election does not check that passes make
progress: the liveness probe restarts a process that makes none.
"""

from contextlib import AbstractAsyncContextManager

from muster.kube.lease import Election
from muster.kube.loop_thread import LoopThread


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
