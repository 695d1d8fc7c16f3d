"""The controller's loop: waits for a change or a due time, reads everything, decides, writes."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any

from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.cluster.durations import Durations
from muster.controller.cluster.memory import Memory
from muster.controller.configuration.configuration import DEFAULT, Configuration
from muster.controller.gangs.actions import Step
from muster.controller.jobs.pod_checks import PodChecks
from muster.controller.jobs.templates import WORKLOAD_UID_LABEL
from muster.controller.metrics.observer import Guarded, Observer, Passed
from muster.controller.passes.apply import Applier, HeldBack
from muster.controller.passes.decider import Decider
from muster.controller.passes.notices import Notices
from muster.controller.passes.queue_status import queue_statuses
from muster.controller.passes.reconcile import Pass, reconcile
from muster.controller.workload.events import Note, event
from muster.kube import kinds
from muster.kube.client import Kube, WriteError
from muster.kube.lease import Election
from muster.kube.reflector import Reflector
from muster.kube.store import Stores
from muster.objects.kueue import MANAGED_LABEL

log = logging.getLogger(__name__)

GATHER_S = 0.01  # changes come in bursts: one pass for all of them
LOOK_AGAIN_S_MAX = 60.0  # in case a wake-up was missed
CATCH_UP_INTERVAL_MS = 1000
STATUS_INTERVAL_MS = 500
WAIT_SENTENCE_INTERVAL_MS = 10_000
WAITS_A_PASS_MAX = 50
EVENTS_QUEUED_MAX = 2000
SUMMARY_WRITES_MAX = 4

FOLLOWED: dict[str, kinds.Kind[Any]] = {
    "ray_jobs": kinds.RAY_JOBS,
    "ray_clusters": kinds.RAY_CLUSTERS,
    "ray_services": kinds.RAY_SERVICES,
    "workloads": kinds.WORKLOADS,
    "local_queues": kinds.LOCAL_QUEUES,
    "cluster_queues": kinds.CLUSTER_QUEUES,
    "cohorts": kinds.COHORTS,
    "flavors": kinds.FLAVORS,
    "topologies": kinds.TOPOLOGIES,
    "priorities": kinds.PRIORITIES,
    "checks": kinds.CHECKS,
    "provisioning_configs": kinds.PROVISIONING_CONFIGS,
    "provisioning_requests": kinds.PROVISIONING_REQUESTS,
    "pod_templates": kinds.POD_TEMPLATES,
    "pods": kinds.PODS,
    "namespaces": kinds.NAMESPACES,
    "limit_ranges": kinds.LIMIT_RANGES,
    "runtime_classes": kinds.RUNTIME_CLASSES,
    "pod_priorities": kinds.POD_PRIORITIES,
}
FOLLOWED_TO_PLACE: dict[str, kinds.Kind[Any]] = {  # only once a Topology exists: there are many
    "nodes": kinds.NODES,
    "bound_pods": kinds.BOUND_PODS,
}
# Kinds whose CRDs may be missing: the autoscaler installs its own. Any other missing kind stops all
# decisions.
OPTIONAL = (kinds.PROVISIONING_REQUESTS, kinds.TOPOLOGIES)
ONLY_LABELLED: dict[str, dict[str, str | None]] = {
    "pods": {WORKLOAD_UID_LABEL: None},  # of gangs; None: any value of the label
    "pod_templates": {MANAGED_LABEL: "true"},
}


def wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000


class Controller:
    """Keeps no state outside the API server: a new Controller continues where a killed one stopped.

    With an `election` it watches everything but decides nothing until it leads. `now_ms` is the clock for
    times in objects; all other timing uses `clock_s`, which is monotonic."""

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
    ) -> None:
        self._kube, self._now_ms, self._clock_s = kube, now_ms, clock_s
        self._random = random or Random()
        self._configuration = configuration
        self._election, self._observer = election, Guarded(observer or Observer())
        self._stores = Stores()
        self._memory, self._decider = Memory(), Decider(configuration.rules)
        self._durations = Durations()
        self._held_back = HeldBack()
        self._applier = Applier(kube, self._stores, self._held_back, self._queue_event, self._observer.wrote)
        self._changed = asyncio.Event()
        self._pod_checks = PodChecks(kube, self._changed.set, clock_s)
        self._stopping = asyncio.Event()
        self._reflectors = {
            name: self._reflector(kind, ONLY_LABELLED.get(name)) for name, kind in FOLLOWED.items()
        }
        self._places = asyncio.Event()  # set once a Topology exists
        self._place_reflectors = {name: self._reflector(kind) for name, kind in FOLLOWED_TO_PLACE.items()}
        self._events: asyncio.Queue[Note | None] = asyncio.Queue(EVENTS_QUEUED_MAX)
        self._notices = Notices()
        self._wait_written_ms: dict[str, int] = {}  # workload -> when its wait message was last written
        self._status_due_ms = 0
        self._passed_ms = self._clock_ms()

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
        )

    def _clock_ms(self) -> int:
        return round(self._clock_s() * 1000)

    @property
    def synced(self) -> bool:
        """Whether the stores hold all objects of the API server."""
        return all(r.synced.is_set() for r in self._reflectors.values())

    def still_for_ms(self) -> int:
        """Returns the time without progress: since the last pass of the leader, or a candidate's last
        attempt."""
        is_candidate = self._election is not None and not self._election.leads
        tried_s = self._election.tried_s if self._election and is_candidate else None
        return self._clock_ms() - (self._passed_ms if tried_s is None else round(tried_s * 1000))

    def watch_ages_s(self) -> dict[str, float]:
        """Returns the age of each watch's last event, bookmark or list."""
        reflectors = {**self._reflectors, **self._place_reflectors}
        ages = {name: reflector.age_s() for name, reflector in reflectors.items()}
        return {name: age_s for name, age_s in ages.items() if age_s is not None}

    def stop(self) -> None:
        """Ends `run` after the current pass: the next leader finds all of its writes."""
        self._stopping.set()
        self._changed.set()

    async def run(self) -> None:
        """Runs until `stop`. Errors come in an ExceptionGroup: NotLeading, or a bug."""
        async with asyncio.TaskGroup() as tasks:
            following = {name: tasks.create_task(r.run()) for name, r in self._reflectors.items()}
            leading = tasks.create_task(self._until_leading())
            stopping = tasks.create_task(self._stopping.wait())
            await asyncio.wait((leading, stopping), return_when=asyncio.FIRST_COMPLETED)
            background = [leading, stopping, tasks.create_task(self._follow_to_place())]
            if leading.done():
                writing = tasks.create_task(self._write_events())
                background.append(tasks.create_task(self._pod_checks.run()))
                if self._election is not None:
                    background.append(tasks.create_task(self._election.keep()))
                    following["workloads"].cancel()
                    following["workloads"] = await self._relist_workloads(tasks)
                await self._work()
                await self._events.put(None)
                await writing
            for task in (*following.values(), *background):
                task.cancel()
        if self._election is not None:
            await self._election.release()

    async def _follow_to_place(self) -> None:
        await self._places.wait()
        await asyncio.gather(*(r.run() for r in self._place_reflectors.values()))

    async def _until_leading(self) -> None:
        """Returns once the stores are synced and this replica leads."""
        await asyncio.gather(*(r.synced.wait() for r in self._reflectors.values()))
        log.info("synced with the API server: %s", self._object_counts())
        if self._election is not None:
            await self._election.win()
        self._passed_ms = self._clock_ms()

    async def _relist_workloads(self, tasks: asyncio.TaskGroup) -> asyncio.Task[None]:
        """Lists Workloads again: the watch may not have delivered the last reservations of the former leader,
        and their quota would be reserved twice."""
        reflector = self._reflectors["workloads"]
        reflector.synced.clear()
        following = tasks.create_task(reflector.run())
        await reflector.synced.wait()
        return following

    async def _work(self) -> None:
        while not self._stopping.is_set():
            wake_at_ms = await self._pass()
            await self._wait(wake_at_ms)

    async def _pass(self) -> int | None:
        """Runs one pass. Returns the time of the next one by `_clock_ms`, if nothing changes before."""
        self._changed.clear()
        now_ms, at_ms = self._now_ms(), self._clock_ms()
        if not await self._applier.catch_up():
            return at_ms + CATCH_UP_INTERVAL_MS
        cluster = self._cluster_state(at_ms)
        held_back = self._held_back.at(at_ms)
        result = reconcile(cluster, now_ms, held_back, self._configuration, self._decider)
        done = await self._applier.perform(result.stops, at_ms)
        done += await self._applier.apply(result, at_ms)
        done += await self._applier.perform(result.restores, at_ms)
        due, later = self._due_waits(result, at_ms)
        done += await self._applier.perform(due, at_ms)
        self._note(done, due, at_ms)
        for note in result.notices:
            if self._notices.is_due(note.about.uid, note.message, at_ms):
                self._queue_event(note)
        if done or self._applier.postponed:
            self._changed.set()
        if done:
            log.info("pass: %s", _summary(done))
        status_ms = await self._tell_queues(cluster, now_ms, at_ms)
        self._passed_ms = self._clock_ms()
        self._observer.passed(Passed(cluster, result, done, now_ms, self._passed_ms - at_ms))
        wake_ms = None if result.wake_at_ms is None else at_ms + result.wake_at_ms - now_ms
        times = (wake_ms, self._held_back.next_ms(), later, status_ms)
        return min((t for t in times if t is not None), default=None)

    def _cluster_state(self, at_ms: int) -> ClusterState:
        """Returns the cluster of this pass, without Topologies until the nodes are synced."""
        items: dict[str, Any] = {name: self._stores.of(kind).items for name, kind in FOLLOWED.items()}
        items |= {"memory": self._memory, "durations": self._durations, "pod_checks": self._pod_checks}
        self._memory.turn()
        self._durations.turn(at_ms)
        self._pod_checks.turn()
        if not items["topologies"]:
            return ClusterState(**items)
        self._places.set()
        if not all(r.synced.is_set() for r in self._place_reflectors.values()):
            return ClusterState(**items | {"topologies": {}})
        around: dict[str, Any] = {n: self._stores.of(k).items for n, k in FOLLOWED_TO_PLACE.items()}
        return ClusterState(**items, **around)

    async def _tell_queues(self, cluster: ClusterState, now_ms: int, at_ms: int) -> int | None:
        """Writes the queues' statuses, at most once an interval. Returns when they are due if not now: any
        pass may have changed them, and the next may be far away."""
        if at_ms < self._status_due_ms:
            return self._status_due_ms
        self._status_due_ms = at_ms + STATUS_INTERVAL_MS
        await self._applier.perform(queue_statuses(cluster, now_ms), at_ms)
        return None

    async def _wait(self, wake_at_ms: int | None) -> None:
        left_s = LOOK_AGAIN_S_MAX if wake_at_ms is None else (wake_at_ms - self._clock_ms()) / 1000
        try:
            async with asyncio.timeout(max(0.0, min(left_s, LOOK_AGAIN_S_MAX))):
                await self._changed.wait()
        except TimeoutError:
            return
        await asyncio.sleep(GATHER_S)

    def _due_waits(self, result: Pass, at_ms: int) -> tuple[list[Step], int | None]:
        """Returns wait messages to write now: new reasons at once, new numbers once an interval."""
        due: list[Step] = []
        later: int | None = None
        for step in result.waits:
            again_ms = (
                self._wait_written_ms.get(step.subject, -WAIT_SENTENCE_INTERVAL_MS)
                + WAIT_SENTENCE_INTERVAL_MS
            )
            if step.notes or again_ms <= at_ms:
                due.append(step)
            else:
                later = again_ms if later is None else min(later, again_ms)
        if len(due) > WAITS_A_PASS_MAX:
            later = at_ms
        return due[:WAITS_A_PASS_MAX], later

    def _note(self, done: Iterable[Step], told: Iterable[Step], at_ms: int) -> None:
        for step in told:
            self._wait_written_ms[step.subject] = at_ms
        self._wait_written_ms = {
            k: t for k, t in self._wait_written_ms.items() if k in self._stores.of(kinds.WORKLOADS).items
        }
        for note in (n for step in done for n in step.notes):
            self._queue_event(note)

    def _queue_event(self, note: Note) -> None:
        if self._events.full():
            log.warning("too many events at once: dropped %s of %s", note.reason, note.about.key)
        else:
            self._events.put_nowait(note)

    async def _write_events(self) -> None:
        """Writes events concurrently with the passes, so that decisions never wait for them; None is the
        last."""
        while (note := await self._events.get()) is not None:
            create = event(note, self._now_ms())
            try:
                await self._kube.perform(create)
            except WriteError as refused:
                self._observer.wrote(create, refused)
                log.debug("event not written: %s", refused)
            else:
                self._observer.wrote(create, None)

    def _object_counts(self) -> str:
        counts = ((kind, len(self._stores.of(kind).items)) for kind in FOLLOWED.values())
        return ", ".join(f"{n} {kind}" for kind, n in counts if n)


def _summary(done: list[Step]) -> str:
    """Returns a few writes one by one, many as counts by kind."""
    if len(done) <= SUMMARY_WRITES_MAX:
        return "; ".join(str(s.write) for s in done)
    counts = Counter(f"{type(s.write).__name__} {s.write.kind}" for s in done)
    return ", ".join(f"{count} x {what}" for what, count in counts.most_common())
