"""A simulation that starts from the state of a running cluster."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

from muster import admission as core
from muster.forecast.assumptions import Assumptions
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.learning.delays import AS_ASSUMED, Delays
from muster.forecast.placement import PlacedJob
from muster.forecast.simulation.events import EventKind
from muster.forecast.simulation.run_outs import BudgetKey, BudgetWatch
from muster.forecast.simulation.simulator import Simulator
from muster.forecast.simulation.worker_group import NextNodes
from muster.translation.elastic import split


@dataclass(frozen=True, slots=True)
class InitialWorkload:
    """A workload in the initial state."""

    workload: core.Workload
    started_ms: int | None = None  # when its gang started or will start; None: its nodes are not provided yet
    ended: bool = False  # finished, and holds quota until its pods have terminated
    terminating: Mapping[str, int] = field(default_factory=dict)  # workers without quota, by pod set
    nodes: Mapping[str, NextNodes] = field(default_factory=dict)  # that growth waits for, by pod set


@dataclass(frozen=True, slots=True)
class Initial:
    """The initial state. All times are in milliseconds since the epoch."""

    now_ms: int
    workloads: Sequence[InitialWorkload]  # of the first jobs, in order; later jobs arrive after `now_ms`


GroupKey = tuple[int, str]
"""A worker group: the number of its job, and its pod set."""

_NO_GROUPS: Mapping[GroupKey, int] = {}


@dataclass(frozen=True, slots=True)
class FirstGrowth:
    """The first growth of a worker group; the time includes that of its nodes."""

    at_ms: int
    pods: int


@dataclass(frozen=True, slots=True)
class _NodesWait:
    """A worker group of an attempt that waits for nodes."""

    group: GroupKey
    row: int
    pods: int  # on the nodes; 0: it may request them again
    ready: int  # pods that have nodes


class ResumedSimulator(Simulator):
    """One future of a cluster in the state `initial`."""

    def __init__(
        self,
        configuration: QueueConfiguration,
        jobs: Sequence[PlacedJob],
        assumptions: Assumptions,
        seed: int,
        initial: Initial,
        delays: Delays = AS_ASSUMED,
    ) -> None:
        super().__init__(configuration, jobs, assumptions, seed, delays)
        self._initial = initial
        self._starts: list[tuple[int, int, int]] = []  # future starts: time, job, attempt
        self._gangs.on_start = self._expect
        self._sizes: dict[GroupKey, int] = {}  # pods that the first growth exceeds
        self._node_waits: list[_NodesWait] = []
        self._without_nodes: set[GroupKey] = set()  # groups that wait for nodes of the initial state
        self._growing: set[GroupKey] = set()  # groups whose first growth is still to come
        self._grown_ms: dict[GroupKey, int] = {}  # when the core granted the first growth
        self.asking: set[GroupKey] = set()  # groups of `growing` that ask for more
        self.growth: dict[GroupKey, FirstGrowth] = {}
        self._elastic.on_size = self._note_size

    def starts_ms(
        self, jobs: Collection[int], until_ms: int, growing: Mapping[GroupKey, int] = _NO_GROUPS
    ) -> dict[int, int]:
        """Simulates until the gangs of these jobs have started, and the worker groups `growing` have more
        pods with quota than these. Returns the start of each gang; gangs that have not started by `until_ms`
        are omitted."""
        starts: dict[int, int] = {}
        pending = set(jobs)
        self._sizes, self._growing = dict(growing), set(growing)
        for now_ms in self._moments():
            while self._starts and self._starts[0][0] <= min(now_ms, until_ms):
                started_ms, job, row = heappop(self._starts)
                # an attempt that lost its quota before its start has another value
                if job in pending and self._gangs.attempts.started_ms[row] == started_ms:
                    starts[job] = started_ms
                    pending.remove(job)
            if not (pending or self._growing) or now_ms > until_ms:
                break
        return starts

    def budgets_used_up_ms(
        self, until_ms: int, goes_on: Callable[[], bool]
    ) -> dict[BudgetKey, int | None] | None:
        """Simulates until the end of the periods of all budgets, at most until `until_ms`. Returns when each
        is used up, None if it is not; None instead of all if `goes_on` returned False before."""
        watch: BudgetWatch | None = None
        for now_ms in self._moments():
            # Created here, as the first moment comes after the initial state was restored.
            watch = watch or BudgetWatch(self._engine, self._initial.now_ms, until_ms)
            watch.passes(min(now_ms, until_ms))
            if watch.is_over or now_ms >= until_ms:
                break
            if not goes_on():
                return None
        watch = watch or BudgetWatch(self._engine, self._initial.now_ms, until_ms)
        watch.passes(until_ms)
        return {key: watch.used_up_ms.get(key) for key in watch.keys}

    def _asks(self, job: int, pod_set: str) -> bool:
        """Returns whether a group waits for nodes, asks for more, or will do so once its gang has started."""
        if (job, pod_set) in self._without_nodes:
            return True
        groups = self._elastic.groups(job) if job in self._elastic else self._jobs[job].groups
        return groups[pod_set].asked > self._sizes[job, pod_set]

    def _note_size(self, now_ms: int, job: int, pod_set: str, granted: int) -> None:
        """Notes when a group first exceeds its size, and by how many pods at that moment."""
        group = job, pod_set
        more = granted - self._sizes.get(group, granted)
        if more <= 0 or group in self._without_nodes:
            return
        if group in self._growing:
            self._growing.remove(group)
            self._grown_ms[group] = now_ms
        if self._grown_ms.get(group) == now_ms:
            delay_ms = self._gangs.growth_nodes_ms(job, self._elastic.admission(job))
            self.growth[group] = FirstGrowth(now_ms + delay_ms, more)

    def _handle(self, kind: int, job: int, row: int, now_ms: int) -> None:
        if kind == EventKind.NODES:
            self._end_wait(self._node_waits[row], now_ms)
        else:
            super()._handle(kind, job, row, now_ms)

    def _end_wait(self, wait: _NodesWait, now_ms: int) -> None:
        """Lets pods run on nodes that were requested, or a group ask for another replica after a back-off."""
        group = job, pod_set = wait.group
        self._without_nodes.discard(group)
        is_alive = self._gangs.is_alive(job, wait.row)
        if not wait.pods:
            if is_alive:
                self._elastic.ask_for_another(job, pod_set)
            return
        more = min(self._elastic.granted(job, pod_set) - wait.ready, wait.pods) if is_alive else 0
        if more <= 0:  # preempted before: the growth that comes later is the first
            self._sizes[group] = wait.ready
        elif group in self._growing:
            self._growing.remove(group)
            self.growth[group] = FirstGrowth(now_ms, more)

    def _job_ended(self, job: int) -> None:
        self._growing = {group for group in self._growing if group[0] != job}

    def _expect(self, started_ms: int, job: int, row: int) -> None:
        heappush(self._starts, (started_ms, job, row))

    def _begin(self) -> int:
        """Restores the state and decides; returns the number of jobs in it."""
        now_ms = self._initial.now_ms
        for job, initial in enumerate(self._initial.workloads):
            workload = replace(initial.workload, key=self._key(job))
            if workload.admission is None:
                self._engine.put(workload)
                self._autoscaling.queue(job, workload)
                self._pending += 1
                if (cancelled_ms := self._jobs[job].cancelled_ms) is not None:
                    at_ms = max(now_ms + 1, self._jobs[job].submit_ms + cancelled_ms)
                    self._events.add(at_ms, EventKind.CANCELLED, job)
            else:
                self._resume(job, initial, workload, workload.admission)
        self._decide(now_ms)  # even if nothing is pending, as queues may be drained
        self._elastic.ask_at_limits(self._without_nodes)
        self._growing = {group for group in self._growing if self._asks(*group)}
        self.asking = {*self._growing, *self.growth}
        return len(self._initial.workloads)

    def _resume(
        self, job: int, initial: InitialWorkload, workload: core.Workload, admission: core.Admission
    ) -> None:
        """Resumes a gang that holds quota: it waits for nodes, runs, is being preempted, or has finished."""
        now_ms, gangs, groups = self._initial.now_ms, self._gangs, self._jobs[job].groups
        is_elastic = bool(groups) and initial.started_ms is not None and not initial.ended
        if is_elastic:
            self._without_nodes |= {(job, pod_set) for pod_set in initial.nodes}
            self._elastic.resume(job, workload, groups, initial.terminating, now_ms)
        else:
            self._engine.put(workload)
        gangs.admit(job, admission, initial.workload.reserved_at_ms)
        if is_elastic:
            self._expect_nodes(job, initial.nodes, admission)
        since_ms = initial.workload.counts_from_ms or initial.workload.reserved_at_ms
        self._spent.reserve(job, admission, since_ms)
        if initial.ended:
            gangs.finish(job, now_ms)
            return
        for pod_set, pods in initial.terminating.items():
            self._autoscaling.expect_end(job, pod_set, pods, now_ms)
        if initial.started_ms is None:
            gangs.provide(job, admission, initial.workload.reserved_at_ms, now_ms)
            if groups and not initial.workload.evicted:
                self._autoscaling.expect_growth(job, workload, now_ms)
        else:
            gangs.start(job, initial.started_ms, now_ms)
        if initial.workload.evicted:
            gangs.preempt(job, now_ms)

    def _expect_nodes(self, job: int, nodes: Mapping[str, NextNodes], admission: core.Admission) -> None:
        """Ends the waits of a gang's groups for nodes, at a time of this future."""
        now_ms, row = self._initial.now_ms, self._gangs.running[job].row
        for pod_set, next_nodes in nodes.items():
            at_ms, pods = next_nodes.since_ms, next_nodes.pods
            if pods:
                at_ms += self._gangs.growth_nodes_ms(job, admission, max(0, now_ms - at_ms))
            self._events.add(max(now_ms, at_ms), EventKind.NODES, job, len(self._node_waits))
            ready = self._elastic.granted(job, pod_set) - pods
            self._node_waits.append(_NodesWait((job, pod_set), row, pods, ready))

    def _key(self, job: int) -> str:
        """Returns a key in the workload's own namespace, as queues may select namespaces."""
        if job >= len(self._initial.workloads):
            namespace, slash, _ = self._jobs[job].name.partition("/")
            return f"{namespace}/{job}" if slash else super()._key(job)
        return f"{self._initial.workloads[job].workload.namespace}/{job}"

    def _queued(self, job: int, queued_ms: int, requeue_ms: int | None) -> core.Workload:
        if job >= len(self._initial.workloads):
            return super()._queued(job, queued_ms, requeue_ms)
        initial, groups = self._initial.workloads[job].workload, self._jobs[job].groups
        sizes = {name: group.pod_set(group.minimum, 0) for name, group in groups.items()}
        return replace(
            split(replace(initial, admission=None), sizes)[0],  # an elastic gang returns at its minimum
            key=self._key(job),
            queued_at_ms=queued_ms,
            requeue_at_ms=requeue_ms,
            admission=None,
            reserved_at_ms=0,
            evicted=False,
            preempting=False,
            counts_from_ms=0,
            parked=False,
            checks={},
        )
