"""Annotates pending jobs with their estimated start, in the background of the controller's passes."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path

from muster.cluster.cluster_state import ClusterState
from muster.configuration.configuration import Configuration
from muster.controller.metrics.metrics import Metrics
from muster.controller.metrics.observer import Background, CompletedPass
from muster.kube.client import Kube, NotLeading, WriteError
from muster.kube.writes import Overwrite
from muster.live.eta.calculation import (
    CPU_S_MAX,
    CalculationError,
    EstimatedStarts,
    Question,
    calculated,
    snapshot,
)
from muster.live.eta.start_errors import StartErrors, started_at_ms
from muster.live.eta.start_range import StartRange
from muster.objects.names import ETA_ANNOTATION

log = logging.getLogger(__name__)

INTERVAL_S_MIN = 60.0
CPU_SHARE_MAX = 0.05  # of one core, on average
ANSWER_S_MAX = 1800.0  # generous: on a busy node the process has the lowest CPU priority
WRITES_A_ROUND_MAX = 200

Calculate = Callable[[Question, float], Awaitable[EstimatedStarts]]


class StartAnnouncer(Background):
    """Estimates starts in rounds and annotates jobs whose estimate has moved. A new leader starts without
    state."""

    def __init__(
        self,
        configuration: Configuration,
        journal: Path | None,
        metrics: Metrics,
        *,
        calculate: Calculate = calculated,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._configuration, self._journal, self._metrics = configuration, journal, metrics
        self._calculate, self._now_ms, self._clock_s = calculate, now_ms, clock_s
        self._cluster = ClusterState()
        self._leads = asyncio.Event()
        self._errors = StartErrors()
        self._written: dict[str, StartRange] = {}  # the annotated estimates, by UID

    def passed(self, passed: CompletedPass) -> None:
        self._cluster = passed.cluster
        self._leads.set()
        for error in self._errors.started(passed.cluster):
            self._metrics.gang_started(error.queue, error.priority_class, error.band, error.error_s)

    async def run(self, kube: Kube) -> None:
        """Runs rounds until cancelled, starting after the first pass."""
        await self._leads.wait()
        while True:
            try:
                pause_s = await self.round(kube)
            except Exception:
                log.exception("a round of start estimates failed")
                self._metrics.eta_failed()
                pause_s = _pause_s(CPU_S_MAX)
            await asyncio.sleep(pause_s)

    async def round(self, kube: Kube) -> float:
        """Runs one round. Returns the seconds until the next."""
        began_s = self._clock_s()
        question = Question(snapshot(self._cluster), self._configuration, self._now_ms(), self._journal)
        try:
            answer = await self._calculate(question, ANSWER_S_MAX)
        except CalculationError as error:
            log.warning("cannot estimate starts of pending jobs: %s", error)
            self._metrics.eta_failed()
            return _pause_s(min(CPU_S_MAX, self._clock_s() - began_s))
        for uid, start in answer.starts.items():
            self._errors.estimated(uid, start)
        await self._write(kube, answer.starts)
        return _pause_s(answer.cpu_s)

    async def _write(self, kube: Kube, starts: Mapping[str, StartRange]) -> None:
        self._written = {uid: start for uid, start in self._written.items() if uid in starts}
        moved = list(self._moved(starts))
        # Estimates that were never written come first, then the oldest: a round writes a limited number.
        moved.sort(key=lambda item: self._written[item[0]].at_ms if item[0] in self._written else 0)
        for uid, write in moved[:WRITES_A_ROUND_MAX]:
            try:
                await kube.perform(write)
            except NotLeading:
                return
            except WriteError as error:
                self._metrics.wrote(write, error)
                log.debug("estimate not written: %s", error)
            else:
                self._metrics.wrote(write, None)
                self._written[uid] = starts[uid]

    def _moved(self, starts: Mapping[str, StartRange]) -> Iterator[tuple[str, Overwrite]]:
        """Yields the writes for pending jobs whose estimate has moved since it was written."""
        for workload in self._cluster.workloads.values():
            uid, job = workload.metadata.uid, self._cluster.job_of(workload)
            start, before = starts.get(uid), self._written.get(uid)
            if start is None or job is None or started_at_ms(workload) is not None:
                continue
            if before is None or start.has_moved(before):
                body = {"metadata": {"annotations": {ETA_ANNOTATION: start.annotation}}}
                yield uid, Overwrite(job.kind, job.obj.key, body, job.metadata.uid)


def _pause_s(cpu_s: float) -> float:
    """Returns the pause that keeps the average CPU usage at CPU_SHARE_MAX."""
    return max(INTERVAL_S_MIN, cpu_s / CPU_SHARE_MAX)
