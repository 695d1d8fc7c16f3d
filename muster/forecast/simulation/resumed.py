"""A simulation that starts from the state of a running cluster."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush

from muster import admission as core
from muster.forecast.assumptions import Assumptions
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.learning.delays import AS_ASSUMED, Delays
from muster.forecast.placement import PlacedJob
from muster.forecast.simulation.events import EventKind
from muster.forecast.simulation.simulator import Simulator


@dataclass(frozen=True, slots=True)
class InitialWorkload:
    """A workload in the initial state."""

    workload: core.Workload
    started_ms: int | None = None  # when its gang started or will start; None: its nodes are not provided yet
    ended: bool = False  # finished, and holds quota until its pods have terminated


@dataclass(frozen=True, slots=True)
class Initial:
    """The initial state. All times are in milliseconds since the epoch."""

    now_ms: int
    workloads: Sequence[InitialWorkload]  # of the first jobs, in order; later jobs arrive after `now_ms`


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

    def starts_ms(self, jobs: Collection[int], until_ms: int) -> dict[int, int]:
        """Simulates until the gangs of these jobs have started. Returns the start of each; gangs that have
        not started by `until_ms` are omitted."""
        starts: dict[int, int] = {}
        pending = set(jobs)
        for now_ms in self._moments():
            while self._starts and self._starts[0][0] <= min(now_ms, until_ms):
                started_ms, job, row = heappop(self._starts)
                # an attempt that lost its quota before its start has another value
                if job in pending and self._gangs.attempts.started_ms[row] == started_ms:
                    starts[job] = started_ms
                    pending.remove(job)
            if not pending or now_ms > until_ms:
                break
        return starts

    def _expect(self, started_ms: int, job: int, row: int) -> None:
        heappush(self._starts, (started_ms, job, row))

    def _begin(self) -> int:
        """Restores the state and decides; returns the number of jobs in it."""
        now_ms = self._initial.now_ms
        for job, initial in enumerate(self._initial.workloads):
            workload = replace(initial.workload, key=self._key(job))
            self._engine.put(workload)
            if workload.admission is None:
                self._pending += 1
                if (cancelled_ms := self._jobs[job].cancelled_ms) is not None:
                    at_ms = max(now_ms + 1, self._jobs[job].submit_ms + cancelled_ms)
                    self._events.add(at_ms, EventKind.CANCELLED, job)
            else:
                self._resume(job, initial, workload.admission)
        self._decide(now_ms)  # even if nothing is pending, as queues may be drained
        return len(self._initial.workloads)

    def _resume(self, job: int, initial: InitialWorkload, admission: core.Admission) -> None:
        """Resumes a gang that holds quota: it waits for nodes, runs, is being preempted, or has finished."""
        now_ms, gangs = self._initial.now_ms, self._gangs
        gangs.admit(job, admission, initial.workload.reserved_at_ms)
        since_ms = initial.workload.counts_from_ms or initial.workload.reserved_at_ms
        self._spent.reserve(job, admission, since_ms)
        if initial.ended:
            gangs.finish(job, now_ms)
            return
        if initial.started_ms is None:
            gangs.provide(job, admission, initial.workload.reserved_at_ms, now_ms)
        else:
            gangs.start(job, initial.started_ms, now_ms)
        if initial.workload.evicted:
            gangs.preempt(job, now_ms)

    def _key(self, job: int) -> str:
        """Returns a key in the workload's own namespace, as queues may select namespaces."""
        if job >= len(self._initial.workloads):
            namespace, slash, _ = self._jobs[job].name.partition("/")
            return f"{namespace}/{job}" if slash else super()._key(job)
        return f"{self._initial.workloads[job].workload.namespace}/{job}"

    def _queued(self, job: int, queued_ms: int, requeue_ms: int | None) -> core.Workload:
        if job >= len(self._initial.workloads):
            return super()._queued(job, queued_ms, requeue_ms)
        workload = self._initial.workloads[job].workload
        return replace(
            workload,
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
