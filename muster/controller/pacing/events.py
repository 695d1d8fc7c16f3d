"""Records events concurrently with the passes, so that decisions never wait for them."""

import asyncio
import logging
from collections.abc import Callable

from muster.controller.pacing.rates import TokenBucket
from muster.controller.workload.events import ObjectEvent, create_event
from muster.kube.client import Kube, WriteError
from muster.kube.writes import Write

log = logging.getLogger(__name__)

EVENTS_QUEUED_MAX = 2000
IN_STATUS_BURST, IN_STATUS_PER_S = 100, 10
"""Limits of events that only repeat a Workload's status. Each costs the API server a write, and would
displace more informative events from the queue."""
REPORT_INTERVAL_MS = 60_000

REPEAT_INTERVAL_MS = 30 * 60_000  # the API server drops events after an hour
REMEMBERED_MAX = 10_000


class EventRecorder:
    """A queue of events and the task that writes them, one at a time.

    `now_ms` is the clock for the times in events; `clock_ms`, which is monotonic, limits their rate."""

    def __init__(
        self,
        kube: Kube,
        now_ms: Callable[[], int],
        clock_ms: Callable[[], int],
        observe_write: Callable[[Write, WriteError | None], None] = lambda write, error: None,
    ) -> None:
        self._kube, self._now_ms, self._clock_ms = kube, now_ms, clock_ms
        self._observe_write = observe_write
        self._queue: asyncio.Queue[ObjectEvent | None] = asyncio.Queue(EVENTS_QUEUED_MAX)
        self._in_status = TokenBucket(IN_STATUS_BURST, IN_STATUS_PER_S)
        self._dropped, self._reported_ms = 0, -REPORT_INTERVAL_MS

    def record(self, event: ObjectEvent) -> None:
        """Queues an event; drops it if the queue is full, or if it repeats a status beyond the rate."""
        if event.in_status:
            if not self._in_status.available(self._clock_ms()):
                return
            self._in_status.take(1, self._clock_ms())
        if not self._queue.full():
            self._queue.put_nowait(event)
            return
        self._dropped += 1
        if self._clock_ms() >= self._reported_ms + REPORT_INTERVAL_MS:
            log.warning("too many events: dropped %d, the last of %s", self._dropped, event.regarding.key)
            self._dropped, self._reported_ms = 0, self._clock_ms()

    async def stop(self) -> None:
        """Ends `run` once all events are written."""
        await self._queue.put(None)

    async def run(self) -> None:
        """Creates queued events until it is closed."""
        while (event := await self._queue.get()) is not None:
            create = create_event(event, self._now_ms())
            try:
                await self._kube.perform(create)
            except WriteError as error:
                self._observe_write(create, error)
                log.debug("event not written: %s", error)
            else:
                self._observe_write(create, None)


class RepeatedEvents:
    """The times at which events about lasting problems were recorded, until they are due again.

    Limited to the last REMEMBERED_MAX events; older ones may be repeated too early."""

    def __init__(self) -> None:
        self._recorded_ms: dict[tuple[str, str], int] = {}  # by subject and message, oldest first

    def is_due(self, subject: str, message: str, at_ms: int) -> bool:
        """Returns whether the event is due, and marks it as recorded if so."""
        while self._recorded_ms and self._oldest_ms() + REPEAT_INTERVAL_MS <= at_ms:
            self._forget_oldest()
        if (subject, message) in self._recorded_ms:
            return False
        if len(self._recorded_ms) >= REMEMBERED_MAX:
            self._forget_oldest()
        self._recorded_ms[subject, message] = at_ms
        return True

    def _oldest_ms(self) -> int:
        return next(iter(self._recorded_ms.values()))

    def _forget_oldest(self) -> None:
        del self._recorded_ms[next(iter(self._recorded_ms))]
