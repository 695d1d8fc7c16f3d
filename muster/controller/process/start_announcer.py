"""Annotates pending jobs with their estimated start, and autoscaled jobs with their estimated growth, in the
background of the controller's passes."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.scaling import stored_sizes
from muster.cluster.queued_growth import requests_for_growth
from muster.configuration.configuration import Configuration
from muster.controller.metrics.metrics import Metrics
from muster.controller.metrics.observer import Background, CompletedPass
from muster.forecast.estimate_outcome import EstimateOutcome
from muster.kube.client import Kube, NotLeading, WriteError
from muster.kube.kinds import CLUSTER_QUEUES
from muster.kube.writes import Overwrite
from muster.live.eta import run_outs
from muster.live.eta.calculation import (
    CPU_S_MAX,
    CalculationError,
    EstimatedStarts,
    Question,
    calculated,
    snapshot,
)
from muster.live.eta.estimate_log import EstimateLog
from muster.live.eta.growth_range import (
    GrowthRange,
    annotation,
    announced_growth,
    current_growth,
    have_moved,
)
from muster.live.eta.start_errors import StartErrors, started_at_ms
from muster.live.eta.start_range import StartRange
from muster.live.workloads import elastic_sizes
from muster.objects.kueue import Workload
from muster.objects.meta import find_condition, millis
from muster.objects.names import BUDGET_FORECAST, ETA_ANNOTATION, GROWTH_ETA_ANNOTATION
from muster.objects.workload_status import QUOTA_RESERVED, is_finished

log = logging.getLogger(__name__)

INTERVAL_S_MIN = 60.0
CPU_SHARE_MAX = 0.05  # of one core, on average
UNTRUE_INTERVAL_S_MIN = 5.0
UNTRUE_CPU_SHARE_MAX = 0.2  # while an annotated estimate is untrue
POLL_S = 1.0
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
        self._log = EstimateLog()
        self._written: dict[str, StartRange] = {}  # the annotated estimates, by UID
        self._round_ms = 0  # the time of the latest estimates
        self._early_s = INTERVAL_S_MIN  # the minimum pause while an estimate is untrue

    def passed(self, passed: CompletedPass) -> None:
        self._cluster = passed.cluster
        self._leads.set()
        self._log.passed(passed.cluster)
        for error in self._errors.started(passed.cluster):
            self._metrics.gang_started(error)

    def estimates(self, uid: str) -> tuple[EstimateOutcome, ...]:
        return self._log.of(uid)

    async def run(self, kube: Kube) -> None:
        """Runs rounds until cancelled, starting after the first pass."""
        await self._leads.wait()
        while True:
            try:
                pause_s = await self.round(kube)
            except Exception:
                log.exception("a round of start estimates failed")
                self._metrics.eta_failed()
                pause_s = self._early_s = _pause_s(CPU_S_MAX)
            await self._pause(pause_s)

    async def _pause(self, pause_s: float) -> None:
        """Pauses until the next round; an untrue estimate ends the pause early."""
        began_s = self._clock_s()
        while (passed_s := self._clock_s() - began_s) < pause_s and not self.ends_early(passed_s):
            await asyncio.sleep(min(POLL_S, pause_s - passed_s))

    def ends_early(self, passed_s: float) -> bool:
        """Returns whether a pause ends after `passed_s` because an annotated estimate is untrue."""
        if passed_s < self._early_s:
            return False
        return any(
            (
                (start := self._written.get(workload.metadata.uid)) is not None
                and self._is_untrue(workload, start)
            )
            or self._lacks_growth(workload)
            for workload in self._cluster.workloads.values()
        )

    def _lacks_growth(self, workload: Workload) -> bool:
        """Returns whether an autoscaled job has not grown by the end of its range, or has requested nodes
        since the latest estimates."""
        if not stored_sizes(workload) or is_finished(workload.status):
            return False
        if any(of.is_over(self._now_ms()) for of in current_growth(workload, self._cluster)):
            return True
        requests = requests_for_growth(workload, self._cluster)
        # Creation times have whole seconds.
        return any(millis(r.metadata.creation_timestamp) > self._round_ms - 1000 for r in requests)

    def _is_untrue(self, workload: Workload, start: StartRange) -> bool:
        """Returns whether a gang has not started by the end of its range, or has got its quota since the
        latest estimates."""
        if started_at_ms(workload) is not None or is_finished(workload.status):
            return False
        if start.p90_ms is not None and self._now_ms() > start.p90_ms:
            return True
        reserved = find_condition(workload.status.conditions, QUOTA_RESERVED)
        holds = reserved is not None and reserved.status == "True"
        return holds and reserved is not None and millis(reserved.last_transition_time) > self._round_ms

    async def round(self, kube: Kube) -> float:
        """Runs one round. Returns the seconds until the next."""
        began_s = self._clock_s()
        now_ms, cluster = self._now_ms(), self._cluster
        sizes = elastic_sizes(cluster, now_ms)
        self._log.forget_deleted(cluster)
        question = Question(
            snapshot(cluster), self._configuration, now_ms, self._journal, sizes, self._log.outcomes(now_ms)
        )
        try:
            answer = await self._calculate(question, ANSWER_S_MAX)
        except CalculationError as error:
            log.warning("cannot estimate starts of pending jobs: %s", error)
            self._metrics.eta_failed()
            self._early_s = _pause_s(min(CPU_S_MAX, self._clock_s() - began_s))
            return self._early_s
        for uid, start in answer.starts.items():
            self._errors.estimated(uid, start)
        self._log.estimated(now_ms, answer.simulated)
        await self._write(kube, answer.starts)
        await self._write_growth(kube, answer.growth)
        await self._write_run_outs(kube, answer.run_outs)
        self._round_ms = question.now_ms
        self._early_s = max(UNTRUE_INTERVAL_S_MIN, answer.cpu_s / UNTRUE_CPU_SHARE_MAX)
        return _pause_s(answer.cpu_s)

    async def _write_growth(self, kube: Kube, growth: Mapping[str, tuple[GrowthRange, ...]]) -> None:
        """Annotates autoscaled jobs whose estimate has moved, and removes estimates of jobs that ask for no
        more."""
        for write in islice(self._moved_growth(growth), WRITES_A_ROUND_MAX):
            if await self._perform(kube, write) is None:
                return

    def _moved_growth(self, growth: Mapping[str, tuple[GrowthRange, ...]]) -> Iterator[Overwrite]:
        for workload in self._cluster.workloads.values():
            uid, job = workload.metadata.uid, self._cluster.job_of(workload)
            if job is None or not stored_sizes(workload):
                continue
            now, before = growth.get(uid, ()), announced_growth(workload, self._cluster)
            is_annotated = GROWTH_ETA_ANNOTATION in job.metadata.annotations
            if have_moved(now, before) if now else is_annotated:
                text = annotation(now) if now else None
                body = {"metadata": {"annotations": {GROWTH_ETA_ANNOTATION: text}}}
                yield Overwrite(job.kind, job.obj.key, body, job.metadata.uid)

    async def _perform(self, kube: Kube, write: Overwrite) -> bool | None:
        """Writes an annotation. Returns whether it is written; None without the lease."""
        try:
            await kube.perform(write)
        except NotLeading:
            return None
        except WriteError as error:
            self._metrics.wrote(write, error)
            log.debug("estimate not written: %s", error)
            return False
        self._metrics.wrote(write, None)
        return True

    async def _write(self, kube: Kube, starts: Mapping[str, StartRange]) -> None:
        self._written = {uid: start for uid, start in self._written.items() if uid in starts}
        moved = list(self._moved(starts))
        # Estimates that were never written come first, then the oldest: a round writes a limited number.
        moved.sort(key=lambda item: self._written[item[0]].at_ms if item[0] in self._written else 0)
        for uid, write in moved[:WRITES_A_ROUND_MAX]:
            written = await self._perform(kube, write)
            if written is None:
                return
            if written:
                self._written[uid] = starts[uid]

    async def _write_run_outs(self, kube: Kube, estimates: Mapping[str, run_outs.RunOuts]) -> None:
        for name, queue in self._cluster.cluster_queues.items():
            new, before = estimates.get(name, ()), run_outs.announced(queue)
            is_same = [(n.owner, n.budget) for n in new] == [(b.owner, b.budget) for b in before]
            if is_same and not any(n.has_moved(b) for n, b in zip(new, before, strict=True)):
                continue
            annotations = {BUDGET_FORECAST: run_outs.annotation(new) if new else None}
            body = {"metadata": {"annotations": annotations}}
            write = Overwrite(CLUSTER_QUEUES, name, body, queue.metadata.uid)
            if await self._perform(kube, write) is None:
                return

    def _moved(self, starts: Mapping[str, StartRange]) -> Iterator[tuple[str, Overwrite]]:
        """Yields the writes for pending jobs whose estimate has moved since it was written."""
        for workload in self._cluster.workloads.values():
            uid, job = workload.metadata.uid, self._cluster.job_of(workload)
            start, before = starts.get(uid), self._written.get(uid)
            if start is None or job is None or started_at_ms(workload) is not None:
                continue
            if before is None or start.has_moved(before) or self._is_untrue(workload, before):
                body = {"metadata": {"annotations": {ETA_ANNOTATION: start.annotation}}}
                yield uid, Overwrite(job.kind, job.obj.key, body, job.metadata.uid)


def _pause_s(cpu_s: float) -> float:
    """Returns the pause that keeps the average CPU usage at CPU_SHARE_MAX."""
    return max(INTERVAL_S_MIN, cpu_s / CPU_SHARE_MAX)
