"""The controller's loop: waits for a change or a due time, reads everything, decides, writes."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from random import Random
from typing import Any

from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.pod_checks import PodChecks
from muster.cluster.watched_kinds import ONLY_LABELLED, OPTIONAL, WATCHED, WATCHED_WITH_TOPOLOGIES
from muster.configuration.configuration import DEFAULT, Configuration
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.metrics.observer import CompletedPass, FailSafeObserver, Observer
from muster.controller.passes.apply import Applier
from muster.controller.passes.pass_memory import PassMemory
from muster.controller.passes.pass_plan import PassPlan
from muster.controller.passes.queue_status import all_queues, queue_status
from muster.controller.passes.reconcile import reconcile
from muster.controller.passes.repeated_events import RepeatedEvents
from muster.controller.passes.write_backoff import WriteBackoff
from muster.controller.process.cluster_states import ClusterStates
from muster.controller.process.event_recorder import EventRecorder
from muster.controller.process.explanation_rate import ExplanationRate
from muster.controller.process.job_wait_writes import JobWaitWrites
from muster.controller.process.load import Load
from muster.controller.process.pass_pace import PassPace
from muster.controller.process.queue_status_rate import QueueStatusRate
from muster.controller.workload.events import merged
from muster.kube import kinds
from muster.kube.client import Kube
from muster.kube.history import History
from muster.kube.lease import Election
from muster.kube.reflector import Reflector
from muster.kube.store import Stores

log = logging.getLogger(__name__)

PASS_INTERVAL_S_MAX = 60.0  # in case a wake-up was missed
READ_RETRY_MS = 1000
FOLLOW_UP_MS = 50  # after writes that no other waits for
SUMMARY_WRITES_MAX = 4
LONG_PASS_MS = 1000


def wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000


class Controller:
    """Keeps no state outside the API server: a new Controller continues where a killed one stopped.

    With an `election` it watches everything but decides nothing until it leads. `now_ms` is the clock for
    times in objects; all other timing uses `clock_s`, which is monotonic. It ends when the `history` goes
    back: everything that it remembers is of a history that the API server has lost."""

    def __init__(
        self,
        kube: Kube,
        now_ms: Callable[[], int] = wall_clock_ms,
        election: Election | None = None,
        observer: Observer | None = None,
        configuration: Configuration = DEFAULT,
        *,
        clock_s: Callable[[], float] = time.monotonic,
        random: Random | None = None,
        history: History | None = None,
    ) -> None:
        self._history = history or History()
        self._kube, self._now_ms, self._clock_s = kube, now_ms, clock_s
        self._random = random or Random()
        self._configuration = configuration
        self._election, self._observer = election, FailSafeObserver(observer or Observer())
        self._stores = Stores()
        self._memory = PassMemory(configuration.rules)
        self._backoff = WriteBackoff()
        self._events = EventRecorder(kube, now_ms, self._clock_ms, self._observer)
        self._applier = Applier(
            kube, self._stores, self._backoff, self._events.record, self._observer.wrote, self._history
        )
        self._changed = asyncio.Event()
        self._pod_checks = PodChecks(kube, self._changed.set, clock_s)
        self._clusters = ClusterStates(self._stores, self._pod_checks, self._nodes_synced)
        self._stopping = asyncio.Event()
        self._reflectors = {kind: self._reflector(kind, ONLY_LABELLED.get(kind)) for kind in WATCHED}
        self._topologies_exist = asyncio.Event()
        self._node_reflectors = {kind: self._reflector(kind) for kind in WATCHED_WITH_TOPOLOGIES}
        self._repeated_events = RepeatedEvents()
        self._load = Load()
        self._explanation_rate = ExplanationRate()
        self._job_waits = JobWaitWrites()
        self._pace = PassPace(clock_s)
        self._status_rate = QueueStatusRate()
        self._passed_ms = self._clock_ms()
        self._written = 0  # by the last pass

    def _reflector(
        self, kind: kinds.Kind[Any], labels: Mapping[str, str | None] | None = None
    ) -> Reflector[Any]:
        store = self._stores.of(kind)
        return Reflector(
            self._kube,
            kind,
            store,
            self._changed.set,
            labels,
            clock_s=self._clock_s,
            random=self._random,
            optional=kind in OPTIONAL,
            history=self._history,
        )

    def _clock_ms(self) -> int:
        return round(self._clock_s() * 1000)

    @property
    def synced(self) -> bool:
        """Whether the stores hold all objects of the API server."""
        return all(r.synced.is_set() for r in self._reflectors.values())

    def stalled_ms(self) -> int:
        """Returns the time without progress: since the last pass of the leader, or a candidate's last
        attempt."""
        is_candidate = self._election is not None and not self._election.is_leader
        last_try_s = self._election.last_try_s if self._election and is_candidate else None
        return self._clock_ms() - (self._passed_ms if last_try_s is None else round(last_try_s * 1000))

    def watch_ages_s(self) -> dict[str, float]:
        """Returns the age of each watch's last event, bookmark or list."""
        names = {**WATCHED, **WATCHED_WITH_TOPOLOGIES}
        reflectors = {**self._reflectors, **self._node_reflectors}
        ages = {names[kind]: reflector.age_s() for kind, reflector in reflectors.items()}
        return {name: age_s for name, age_s in ages.items() if age_s is not None}

    def stop(self) -> None:
        """Ends `run` after the current pass: the next leader finds all of its writes."""
        self._stopping.set()
        self._changed.set()

    async def run(self) -> None:
        """Runs until `stop`, or until the history has gone back: the Lease is not released then. Errors come
        in an ExceptionGroup: NotLeading, or a bug."""
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(self._stop_with_history())
            watching = {kind: tasks.create_task(r.run()) for kind, r in self._reflectors.items()}
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
                tasks.create_task(self._watch_nodes()),
            ]
            if leading.done():
                background.append(tasks.create_task(self._pod_checks.run()))
                if self._election is not None:
                    if not renewing:
                        background.append(tasks.create_task(self._election.renew()))
                    if not self._election.is_first:  # there was a former leader
                        watching[kinds.WORKLOADS].cancel()
                        watching[kinds.WORKLOADS] = await self._relist_workloads(tasks)
                await self._run_passes()
                if not self._history.went_back:
                    await self._events.stop()
                    await writing
            for task in (*watching.values(), *background):
                task.cancel()
        if self._election is not None and not self._history.went_back:
            await self._election.release()

    async def _stop_with_history(self) -> None:
        await self._history.follow(self._kube)
        self.stop()

    async def _watch_nodes(self) -> None:
        await self._topologies_exist.wait()
        await asyncio.gather(*(r.run() for r in self._node_reflectors.values()))

    async def _until_leading(self) -> None:
        """Returns once the stores are synced and this replica leads."""
        await asyncio.gather(*(r.synced.wait() for r in self._reflectors.values()))
        log.info("synced with the API server: %s", self._object_counts())
        if self._election is not None and not self._election.is_leader:
            await self._election.acquire()
        self._passed_ms = self._clock_ms()

    async def _relist_workloads(self, tasks: asyncio.TaskGroup) -> asyncio.Task[None]:
        """Lists Workloads again: the watch may not have delivered the last reservations of the former leader,
        and their quota would be reserved twice."""
        reflector = self._reflectors[kinds.WORKLOADS]
        reflector.synced.clear()
        watching = tasks.create_task(reflector.run())
        await reflector.synced.wait()
        return watching

    async def _run_passes(self) -> None:
        while not self._stopping.is_set():
            wake_at_ms = await self._pass()
            await self._wait(wake_at_ms)

    async def _pass(self) -> int | None:
        """Runs one pass. Returns the time of the next one by `_clock_ms`, if nothing changes before."""
        self._changed.clear()
        if not await self._history.is_intact():
            return None
        self._pace.begin_pass()
        now_ms, at_ms = self._now_ms(), self._clock_ms()
        if not await self._applier.read_unanswered():
            return at_ms + READ_RETRY_MS
        cluster = self._clusters.begin_pass(at_ms)
        backing_off = self._backoff.at(at_ms)
        limits = self._explanation_rate.limits(at_ms)
        plan = reconcile(cluster, now_ms, backing_off, self._configuration, self._memory, limits)
        decided_ms = self._clock_ms()
        self._pace.decided()
        self._clusters.decided(decided_ms)
        self._load.record(
            at_ms,
            busy=bool(plan.stops or plan.before_reservations or plan.reservations),
            changes=self._changed_by_others(cluster),
        )
        explained_ms = self._explanation_rate.record(plan.explained, at_ms, now_ms, self._load.calm_ms)
        done, status_ms, told_ms = await asyncio.gather(
            self._applier.apply(plan, at_ms),
            self._write_queue_statuses(cluster, plan, now_ms, at_ms),
            self._write_job_waits(cluster, plan, now_ms, at_ms),
        )
        for event in chain.from_iterable(merged(planned.events) for planned in done):
            self._events.record(event)
        for event in plan.repeated_events:
            if self._repeated_events.is_due(event.regarding.uid, event.message, at_ms):
                self._events.record(event)
        if plan.postponed or self._applier.postponed or _leads_on(done, plan.wait_reasons):
            self._changed.set()
        self._passed_ms, self._written = self._clock_ms(), len(done)
        if done:
            log.info(
                "pass: %s%s", _summary(done), _durations(decided_ms - at_ms, self._passed_ms - decided_ms)
            )
        self._observer.passed(CompletedPass(cluster, plan, done, now_ms, self._passed_ms - at_ms))
        wake_ms = None if plan.wake_at_ms is None else at_ms + plan.wake_at_ms - now_ms
        follow_up_ms = at_ms + FOLLOW_UP_MS if done else None
        times = (wake_ms, follow_up_ms, self._backoff.next_ms(), explained_ms, status_ms, told_ms)
        return min((t for t in times if t is not None), default=None)

    def _changed_by_others(self, cluster: ClusterState) -> int:
        """Returns about how many Workloads others have changed since the last pass: its own writes come back
        as changes."""
        return len(cluster.marks.workloads) - self._written if cluster.marks is not None else 0

    def _nodes_synced(self) -> bool:
        """Returns whether the nodes are synced; starts to watch them if they are not watched yet."""
        self._topologies_exist.set()
        return all(r.synced.is_set() for r in self._node_reflectors.values())

    async def _write_queue_statuses(
        self, cluster: ClusterState, plan: PassPlan, now_ms: int, at_ms: int
    ) -> int | None:
        """Writes the queues' statuses that are due. Returns when the others are: any pass may have changed
        them, and the next may be far away."""
        changed = plan.changed_queues
        self._status_rate.mark(all_queues(cluster) if changed is None else changed)
        chosen = self._status_rate.choose(
            lambda queue: queue_status(queue, cluster, plan.counts, now_ms),
            at_ms,
            busy=at_ms < self._load.calm_ms,
            written={(w.write.kind, w.write.key) for w in plan.before_reservations},
        )
        await self._applier.perform(chosen, at_ms)
        return self._status_rate.due_ms

    async def _write_job_waits(
        self, cluster: ClusterState, plan: PassPlan, now_ms: int, at_ms: int
    ) -> int | None:
        """Tells jobs why they wait. Returns when the next are due."""
        marks = cluster.marks  # a full pass examines others too, of which nothing has changed
        self._job_waits.take(cluster, plan.examined if marks is None else marks.workloads, at_ms)
        busy = {w.subject for w in (*plan.stops, *plan.before_reservations, *plan.reservations)}
        chosen = {
            one.planned.subject: one
            for one in self._job_waits.choose(cluster, self._memory.decider.queue_order, busy, now_ms, at_ms)
        }
        for planned in await self._applier.perform([one.planned for one in chosen.values()], at_ms):
            self._job_waits.written(chosen[planned.subject], at_ms)
            for event in planned.events:
                self._events.record(event)
        return self._job_waits.due_ms()

    async def _wait(self, wake_at_ms: int | None) -> None:
        left_s = PASS_INTERVAL_S_MAX if wake_at_ms is None else (wake_at_ms - self._clock_ms()) / 1000
        try:
            async with asyncio.timeout(max(0.0, min(left_s, PASS_INTERVAL_S_MAX))):
                await self._changed.wait()
        except TimeoutError:
            return
        await asyncio.sleep(self._pace.pause_s())

    def _object_counts(self) -> str:
        counts = ((kind, len(self._stores.of(kind).items)) for kind in WATCHED)
        return ", ".join(f"{n} {kind}" for kind, n in counts if n)


def _leads_on(done: Iterable[PlannedWrite], wait_reasons: Iterable[PlannedWrite]) -> bool:
    """Whether more writes follow from these at once: from those of Workloads, but for reasons to wait."""
    reasons = {id(planned) for planned in wait_reasons}
    return any(planned.write.kind is kinds.WORKLOADS and id(planned) not in reasons for planned in done)


def _durations(deciding_ms: int, writing_ms: int) -> str:
    """Returns how long a pass took, if that may be worth knowing."""
    if deciding_ms + writing_ms < LONG_PASS_MS:
        return ""
    return f" (decided in {deciding_ms / 1000:.1f} s, written in {writing_ms / 1000:.1f} s)"


def _summary(done: list[PlannedWrite]) -> str:
    """Returns a few writes one by one, many as counts by kind."""
    if len(done) <= SUMMARY_WRITES_MAX:
        return "; ".join(str(s.write) for s in done)
    counts = Counter(f"{type(s.write).__name__} {s.write.kind}" for s in done)
    return ", ".join(f"{count} x {what}" for what, count in counts.most_common())
