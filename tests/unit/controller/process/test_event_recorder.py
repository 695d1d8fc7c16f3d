"""Which events are left out when too many come at once."""

import asyncio
import logging
from collections.abc import Iterator
from random import Random

import pytest

from muster.controller.metrics.observer import Observer
from muster.controller.process.event_recorder import (
    EVENTS_QUEUED_MAX,
    QUEUED_IN_STATUS_MAX,
    REPORT_INTERVAL_MS,
    EventRecorder,
)
from muster.controller.workload.events import ObjectEvent
from muster.kube import kinds
from muster.objects.meta import ObjectMeta
from tests.simulation.api import Api
from tests.simulation.clock import VirtualLoop
from tests.simulation.kube import CALM, EmulatedKube


class Recorded:
    """A recorder whose task has not begun, and the events that it writes in the end."""

    def __init__(self) -> None:
        self.loop = VirtualLoop()
        self.api = Api(self.loop.now_ms)
        self.now_ms = 0
        kube = EmulatedKube(self.api, Random(1), CALM)
        self.recorder = EventRecorder(kube, lambda: self.now_ms, Observer())

    def record(self, count: int, *, in_status: bool = False) -> None:
        for number in range(count):
            meta = ObjectMeta(name=f"w-{number}", namespace="team-a")
            self.recorder.record(ObjectEvent(kinds.WORKLOADS, meta, "Reason", "message", in_status=in_status))

    def written(self) -> int:
        async def write() -> None:
            running = asyncio.create_task(self.recorder.run())
            await self.recorder.stop()
            await running

        self.loop.run_until_complete(write())
        return len(self.api.all(kinds.EVENTS))


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    found = Recorded()
    yield found
    found.loop.close()


def test_events_that_repeat_a_status_are_left_out_while_many_wait(recorded: Recorded) -> None:
    recorded.record(QUEUED_IN_STATUS_MAX - 1)
    recorded.record(5, in_status=True)
    recorded.record(3)
    assert recorded.written() == QUEUED_IN_STATUS_MAX + 3


def test_dropped_events_are_reported_once_an_interval(
    recorded: Recorded, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        recorded.record(EVENTS_QUEUED_MAX + 10)
        recorded.now_ms += REPORT_INTERVAL_MS
        recorded.record(1)
    assert [record.getMessage().split(",")[0] for record in caplog.records] == [
        "too many events at once: dropped 1",
        "too many events at once: dropped 10",
    ]
