"""The controller's loop: waits for a change or a due time, reads everything, decides, writes."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain
from random import Random

from muster.cluster.jobs.pod_checks import PodChecks
from muster.configuration.configuration import DEFAULT, Configuration
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.metrics.observer import CompletedPass, Observer, Observers
from muster.controller.pacing.events import EventRecorder
from muster.controller.pacing.job_wait_writes import JobWaitWrite
from muster.controller.pacing.pacing import Pacing
from muster.controller.passes.pass_memory import PassMemory
from muster.controller.passes.reconcile import reconcile
from muster.controller.process.apply import Applier
from muster.controller.process.cluster_states import ClusterStates
from muster.controller.process.watches import Watches
from muster.controller.workload.events import merged
from muster.kube import kinds
from muster.kube.client import Kube
from muster.kube.history import History
from muster.kube.lease import Election
from muster.kube.store import Stores

log = logging.getLogger(__name__)

PASS_INTERVAL_S_MAX = 60.0  # in case a wake-up was missed
READ_RETRY_MS = 1000
FOLLOW_UP_MS = 50  # the next pass after writes that need no immediate follow-up
SUMMARY_WRITES_MAX = 4
LONG_PASS_MS = 1000


def wall_clock_ms() -> int:
    """Returns the current time."""
    return time.time_ns() // 1_000_000


class Controller:
    """Keeps no state outside the API server: a new Controller continues where a killed one stopped.

    With an `election` it watches everything but decides nothing until it leads. `now_ms` is the clock for
    times in objects; all other timing uses `clock_s`, which is monotonic. It ends when the `history` goes
    back: all its state belongs to a history that the API server has lost."""

    def __init__(
        self,
        kube: Kube,
        now_ms: Callable[[], int] = wall_clock_ms,
        election: Election | None = None,
        observers: Iterable[Observer] = (),
        configuration: Configuration = DEFAULT,
        *,
        clock_s: Callable[[], float] = time.monotonic,
        random: Random | None = None,
        history: History | None = None,
    ) -> None:
        self._kube, self._now_ms, self._clock_s = kube, now_ms, clock_s
        self._election, self._history = election, history or History()
        self._configuration, self._observers = configuration, Observers(*observers)
        self._changed, self._stopping = asyncio.Event(), asyncio.Event()
        stores = Stores()
        self._watches = Watches(
            kube,
            stores,
            self._changed.set,
            clock_s=clock_s,
            random=random or Random(),
            history=self._history,
        )
        self._pod_checks = PodChecks(kube, self._changed.set, clock_s)
        self._clusters = ClusterStates(stores, self._pod_checks, self._watches.nodes_synced)
        self._memory = PassMemory(configuration.rules)
        self._pacing = Pacing(clock_s)
        self._events = EventRecorder(kube, now_ms, self._clock_ms, self._observers.wrote)
        self._applier = Applier(
            kube, stores, self._pacing.backoff, self._events.record, self._observers.wrote, self._history
        )
        self._passed_ms = self._clock_ms()

    def _clock_ms(self) -> int:
        return round(self._clock_s() * 1000)

    @property
    def synced(self) -> bool:
        """True once the stores hold all objects of the API server."""
        return self._watches.synced

    def stalled_ms(self) -> int:
        """Returns the time without progress: since the last pass of the leader, or a candidate's last
        attempt."""
        is_candidate = self._election is not None and not self._election.is_leader
        last_try_s = self._election.last_try_s if self._election and is_candidate else None
        return self._clock_ms() - (self._passed_ms if last_try_s is None else round(last_try_s * 1000))

    def watch_ages_s(self) -> dict[str, float]:
        """Returns the age of each watch's last event, bookmark or list."""
        return self._watches.ages_s()

    def stop(self) -> None:
        """Ends `run` after the current pass: the next leader finds all of its writes."""
        self._stopping.set()
        self._changed.set()

    async def run(self) -> None:
        """Runs until `stop`, or until the history has gone back: the Lease is not released then. Errors come
        in an ExceptionGroup: NotLeading, or a bug."""
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(self._stop_with_history())
            self._watches.start(tasks)
            renewing: list[asyncio.Task[None]] = []
            if self._election is not None and self._election.is_leader:  # since the last history
                renewing.append(tasks.create_task(self._election.renew()))
            leading = tasks.create_task(self._until_leading())
            stopping = tasks.create_task(self._stopping.wait())
            await asyncio.wait((leading, stopping), return_when=asyncio.FIRST_COMPLETED)
            writing = tasks.create_task(self._events.run())
            background = [
                following,
                leading,
                stopping,
                writing,
                *renewing,
                tasks.create_task(self._watches.run_nodes()),
            ]
            if leading.done():
                background.append(tasks.create_task(self._pod_checks.run()))
                if self._election is not None:
                    if not renewing:
                        background.append(tasks.create_task(self._election.renew()))
                    if not self._election.is_first:  # there was a former leader
                        await self._watches.relist_workloads(tasks)
                await self._run_passes()
                if not self._history.went_back:
                    await self._events.stop()
                    await writing
            self._watches.cancel()
            for task in background:
                task.cancel()
        if self._election is not None and not self._history.went_back:
            await self._election.release()

    async def _stop_with_history(self) -> None:
        await self._history.follow(self._kube)
        self.stop()

    async def _until_leading(self) -> None:
        """Returns once the stores are synced and this replica leads."""
        await self._watches.wait_until_synced()
        log.info("synced with the API server: %s", self._watches.object_counts())
        if self._election is not None and not self._election.is_leader:
            await self._election.acquire()
        self._passed_ms = self._clock_ms()

    async def _run_passes(self) -> None:
        while not self._stopping.is_set():
            wake_at_ms = await self._pass()
            await self._wait(wake_at_ms)

    async def _pass(self) -> int | None:
        """Runs one pass. Returns the time of the next one by `_clock_ms`, if nothing changes before."""
        self._changed.clear()
        if not await self._history.is_intact():
            return None
        pacing = self._pacing
        pacing.passes.begin_pass()
        now_ms, at_ms = self._now_ms(), self._clock_ms()
        if not await self._applier.read_unanswered():
            return at_ms + READ_RETRY_MS
        cluster = self._clusters.begin_pass(at_ms)
        backing_off, limits = pacing.backoff.at(at_ms), pacing.limits(at_ms)
        plan = reconcile(cluster, now_ms, backing_off, self._configuration, self._memory, limits)
        decided_ms = self._clock_ms()
        self._clusters.decided(decided_ms)
        pacing.decided(cluster, plan, now_ms, at_ms)
        statuses = pacing.queue_status_writes(cluster, plan, now_ms, at_ms)
        waits = pacing.job_wait_writes(cluster, plan, self._memory.decider.queue_order, now_ms, at_ms)
        done, _, _ = await asyncio.gather(
            self._applier.apply(plan.writes, at_ms),
            self._applier.perform(statuses, at_ms),
            self._annotate_jobs(waits, at_ms),
        )
        for event in chain.from_iterable(merged(planned.events) for planned in done):
            self._events.record(event)
        for event in plan.writes.repeated_events:
            if pacing.repeated_events.is_due(event.regarding.uid, event.message, at_ms):
                self._events.record(event)
        if plan.postponed or self._applier.postponed or _needs_follow_up(done, plan.writes.wait_reasons):
            self._changed.set()
        self._passed_ms = self._clock_ms()
        pacing.wrote(len(done))
        if done:
            log.info(
                "pass: %s%s", _summary(done), _durations(decided_ms - at_ms, self._passed_ms - decided_ms)
            )
        self._observers.passed(CompletedPass(cluster, plan, done, now_ms, self._passed_ms - at_ms))
        wake_ms = None if plan.wake_at_ms is None else at_ms + plan.wake_at_ms - now_ms
        follow_up_ms = at_ms + FOLLOW_UP_MS if done else None
        return min((t for t in (wake_ms, follow_up_ms, pacing.due_ms()) if t is not None), default=None)

    async def _annotate_jobs(self, waits: Iterable[JobWaitWrite], at_ms: int) -> None:
        """Writes why jobs wait into their annotations and events."""
        by_subject = {wait.planned.subject: wait for wait in waits}
        for planned in await self._applier.perform([w.planned for w in by_subject.values()], at_ms):
            self._pacing.job_waits.written(by_subject[planned.subject], at_ms)
            for event in planned.events:
                self._events.record(event)

    async def _wait(self, wake_at_ms: int | None) -> None:
        wait_s = PASS_INTERVAL_S_MAX if wake_at_ms is None else (wake_at_ms - self._clock_ms()) / 1000
        try:
            async with asyncio.timeout(max(0.0, min(wait_s, PASS_INTERVAL_S_MAX))):
                await self._changed.wait()
        except TimeoutError:
            return
        await asyncio.sleep(self._pacing.passes.pause_s())


def _needs_follow_up(done: Iterable[PlannedWrite], wait_reasons: Iterable[PlannedWrite]) -> bool:
    """Returns whether more writes follow from these immediately: a write of a Workload leads to the next
    step, unless it only updates why the Workload waits."""
    reasons = {id(planned) for planned in wait_reasons}
    return any(planned.write.kind is kinds.WORKLOADS and id(planned) not in reasons for planned in done)


def _durations(deciding_ms: int, writing_ms: int) -> str:
    """Returns the duration of a long pass; empty for others."""
    if deciding_ms + writing_ms < LONG_PASS_MS:
        return ""
    return f" (decided in {deciding_ms / 1000:.1f} s, written in {writing_ms / 1000:.1f} s)"


def _summary(done: list[PlannedWrite]) -> str:
    """Returns a few writes individually, and many as counts by kind."""
    if len(done) <= SUMMARY_WRITES_MAX:
        return "; ".join(str(s.write) for s in done)
    counts = Counter(f"{type(s.write).__name__} {s.write.kind}" for s in done)
    return ", ".join(f"{count} x {write}" for write, count in counts.most_common())
