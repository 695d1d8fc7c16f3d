"""Records events concurrently with the passes, so that decisions never wait for them."""

import asyncio
import logging
from collections.abc import Callable

from muster.controller.metrics.observer import Observer
from muster.controller.process.token_bucket import TokenBucket
from muster.controller.workload.events import ObjectEvent, create_event
from muster.kube.client import Kube, WriteError

log = logging.getLogger(__name__)

EVENTS_QUEUED_MAX = 2000
IN_STATUS_BURST, IN_STATUS_PER_S = 100, 10
"""Events that say what the Workload says. Beyond these they are left out: each costs the API server a write,
and takes the place of one that says more."""
REPORT_INTERVAL_MS = 60_000


class EventRecorder:
    """A queue of events and the task that writes them, one at a time. `now_ms` is the clock for their times;
    `clock_ms`, which is monotonic, limits them."""

    def __init__(
        self, kube: Kube, now_ms: Callable[[], int], clock_ms: Callable[[], int], observer: Observer
    ) -> None:
        self._kube, self._now_ms, self._clock_ms, self._observer = kube, now_ms, clock_ms, observer
        self._queue: asyncio.Queue[ObjectEvent | None] = asyncio.Queue(EVENTS_QUEUED_MAX)
        self._in_status = TokenBucket(IN_STATUS_BURST, IN_STATUS_PER_S)
        self._dropped, self._reported_ms = 0, -REPORT_INTERVAL_MS

    def record(self, event: ObjectEvent) -> None:
        """Queues an event, unless too many wait already, or too many that repeat a status came lately."""
        if event.in_status:
            if not self._in_status.available(self._clock_ms()):
                return
            self._in_status.take(1, self._clock_ms())
        if not self._queue.full():
            self._queue.put_nowait(event)
            return
        self._dropped += 1
        if self._clock_ms() >= self._reported_ms + REPORT_INTERVAL_MS:
            log.warning(
                "too many events at once: dropped %d, the last one of %s", self._dropped, event.regarding.key
            )
            self._dropped, self._reported_ms = 0, self._clock_ms()

    async def stop(self) -> None:
        """Ends `run` once all events are written."""
        await self._queue.put(None)

    async def run(self) -> None:
        while (event := await self._queue.get()) is not None:
            create = create_event(event, self._now_ms())
            try:
                await self._kube.perform(create)
            except WriteError as error:
                self._observer.wrote(create, error)
                log.debug("event not written: %s", error)
            else:
                self._observer.wrote(create, None)
