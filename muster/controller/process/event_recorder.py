"""Records events concurrently with the passes, so that decisions never wait for them."""

import asyncio
import logging
from collections.abc import Callable

from muster.controller.metrics.observer import Observer
from muster.controller.workload.events import ObjectEvent, create_event
from muster.kube.client import Kube, WriteError

log = logging.getLogger(__name__)

EVENTS_QUEUED_MAX = 2000


class EventRecorder:
    """A queue of events and the task that writes them."""

    def __init__(self, kube: Kube, now_ms: Callable[[], int], observer: Observer) -> None:
        self._kube, self._now_ms, self._observer = kube, now_ms, observer
        self._queue: asyncio.Queue[ObjectEvent | None] = asyncio.Queue(EVENTS_QUEUED_MAX)

    def record(self, event: ObjectEvent) -> None:
        if self._queue.full():
            log.warning("too many events at once: dropped %s of %s", event.reason, event.regarding.key)
        else:
            self._queue.put_nowait(event)

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
