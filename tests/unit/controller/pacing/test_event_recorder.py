"""Tests which events are left out when too many come at the same time."""

import asyncio
import logging
from collections.abc import Iterator
from random import Random

import pytest
from msgspec.structs import replace

from muster.controller.pacing.events import (
    EVENTS_QUEUED_MAX,
    IN_STATUS_BURST,
    IN_STATUS_PER_S,
    REPORT_INTERVAL_MS,
    EventRecorder,
)
from muster.controller.workload.events import ObjectEvent, merged, status_events
from muster.kube import kinds
from muster.objects.meta import Condition, ObjectMeta
from muster.objects.workload_status import ADMITTED, EVICTED, QUOTA_RESERVED
from tests.simulation.api import Api
from tests.simulation.clock import VirtualLoop
from tests.simulation.kube import CALM, EmulatedKube
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import NOW_MS, workload

pytestmark = pytest.mark.slow


class Recorded:
    """A recorder whose task has not begun, and the events that it writes in the end."""

    def __init__(self) -> None:
        self.loop = VirtualLoop()
        self.api = Api(self.loop.now_ms)
        self.now_ms, self.wall_ms = 0, NOW_MS
        kube = EmulatedKube(self.api, Random(1), CALM)
        self.recorder = EventRecorder(kube, lambda: self.wall_ms, lambda: self.now_ms)

    def record(self, count: int, *, in_status: bool = False) -> None:
        for number in range(count):
            meta = ObjectMeta(name=f"w-{number}", namespace="team-a")
            self.recorder.record(ObjectEvent(kinds.WORKLOADS, meta, "Reason", "message", in_status=in_status))

    def becomes(self, *conditions: str) -> None:
        """Records the events of a Workload of which these conditions become true."""
        pending = workload(ray_job("dev"))
        true = [Condition(type=kind, status="True", reason="Preempted") for kind in conditions]
        new = replace(pending.status, conditions=tuple(true))
        for event in merged(status_events(pending, new, NOW_MS)):
            self.recorder.record(event)

    def written(self) -> int:
        async def write() -> None:
            running = asyncio.create_task(self.recorder.run())
            await self.recorder.stop()
            await running

        self.loop.run_until_complete(write())
        return len(self.api.all(kinds.EVENTS))


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    recorded = Recorded()
    yield recorded
    recorded.loop.close()


def test_events_that_repeat_a_status_are_left_out_beyond_a_burst_and_their_rate(recorded: Recorded) -> None:
    recorded.record(IN_STATUS_BURST + 5, in_status=True)
    recorded.record(3)
    recorded.now_ms += 2000
    recorded.record(2 * IN_STATUS_PER_S + 5, in_status=True)
    assert recorded.written() == IN_STATUS_BURST + 3 + 2 * IN_STATUS_PER_S


def test_a_clock_that_is_set_back_leaves_no_more_events_out(recorded: Recorded) -> None:
    recorded.record(IN_STATUS_BURST, in_status=True)
    recorded.now_ms += 1000
    recorded.wall_ms -= 3_600_000
    recorded.record(IN_STATUS_PER_S, in_status=True)
    assert recorded.written() == IN_STATUS_BURST + IN_STATUS_PER_S


def test_a_preemption_is_recorded_after_thousands_of_admissions(recorded: Recorded) -> None:
    for _ in range(EVENTS_QUEUED_MAX + 10):
        recorded.becomes(QUOTA_RESERVED, ADMITTED)
    recorded.becomes(EVICTED)
    assert recorded.written() == IN_STATUS_BURST + 1
    assert "EvictedDueToPreempted" in {event["reason"] for event in recorded.api.all(kinds.EVENTS)}


def test_dropped_events_are_reported_once_an_interval(
    recorded: Recorded, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        recorded.record(EVENTS_QUEUED_MAX + 10)
        recorded.now_ms += REPORT_INTERVAL_MS
        recorded.record(1)
    assert [record.getMessage().split(",")[0] for record in caplog.records] == [
        "too many events: dropped 1",
        "too many events: dropped 10",
    ]
