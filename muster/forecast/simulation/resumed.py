"""A simulation that begins in the state of a running cluster."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush

from muster import admission as core
from muster.forecast.assumptions import Assumptions
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.placement import PlacedJob
from muster.forecast.simulation.simulator import Simulator


@dataclass(frozen=True, slots=True)
class InitialWorkload:
    """A workload as the core knows it at the beginning. With quota, its gang runs since `started_ms`, or will
    run from then on; None: its nodes are still to be provided. `ended`: it is over, and keeps its quota until
    its pods are gone."""

    workload: core.Workload
    started_ms: int | None = None
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Initial:
    """`workloads` belong to the first jobs, in their order; the jobs after them arrive later than `now_ms`.
    All times are in milliseconds since the epoch."""

    now_ms: int
    workloads: Sequence[InitialWorkload]


class ResumedSimulator(Simulator):
    """One future of a cluster that is in the state `initial`."""

    def __init__(
        self,
        configuration: QueueConfiguration,
        jobs: Sequence[PlacedJob],
        assumptions: Assumptions,
        seed: int,
        initial: Initial,
    ) -> None:
        super().__init__(configuration, jobs, assumptions, seed)
        self._initial = initial
        self._starts: list[tuple[int, int, int]] = []  # time, job, attempt; not yet reached
        self._gangs.on_start = self._expect

    def starts_ms(self, jobs: Collection[int], until_ms: int) -> dict[int, int]:
        """Simulates until the gangs of these jobs have run. Returns since when each of them does; without
        those that do not by `until_ms`."""
        found: dict[int, int] = {}
        left = set(jobs)
        for now_ms in self._moments():
            while self._starts and self._starts[0][0] <= min(now_ms, until_ms):
                started_ms, job, row = heappop(self._starts)
                # an attempt that lost its quota before its start has none
                if job in left and self._gangs.attempts.started_ms[row] == started_ms:
                    found[job] = started_ms
                    left.remove(job)
            if not left or now_ms > until_ms:
                break
        return found

    def _expect(self, started_ms: int, job: int, row: int) -> None:
        heappush(self._starts, (started_ms, job, row))

    def _begin(self) -> int:
        """Takes over the state, and decides."""
        now_ms = self._initial.now_ms
        for job, one in enumerate(self._initial.workloads):
            workload = replace(one.workload, key=self._key(job))
            self._engine.put(workload)
            if workload.admission is None:
                self._pending += 1
            else:
                self._resume(job, one, workload.admission)
        self._decide(now_ms)  # even if nothing is pending, as queues may be drained
        return len(self._initial.workloads)

    def _resume(self, job: int, one: InitialWorkload, admission: core.Admission) -> None:
        """Goes on with a gang that has quota: it waits for its nodes, runs, is leaving, or is over."""
        now_ms, gangs = self._initial.now_ms, self._gangs
        gangs.admit(job, admission, one.workload.reserved_at_ms)
        if one.ended:
            gangs.finish(job, now_ms)
            return
        if one.started_ms is None:
            gangs.provide(job, admission, one.workload.reserved_at_ms, now_ms)
        else:
            gangs.start(job, one.started_ms, now_ms)
        if one.workload.evicted:
            gangs.preempt(job, now_ms)

    def _key(self, job: int) -> str:
        """Returns a key in its namespace, as queues may select namespaces."""
        if job >= len(self._initial.workloads):
            return super()._key(job)
        return f"{self._initial.workloads[job].workload.namespace}/{job}"

    def _queued(self, job: int, queued_ms: int, requeue_ms: int | None) -> core.Workload:
        if job >= len(self._initial.workloads):
            return super()._queued(job, queued_ms, requeue_ms)
        known = self._initial.workloads[job].workload
        return replace(
            known,
            key=self._key(job),
            queued_at_ms=queued_ms,
            requeue_at_ms=requeue_ms,
            admission=None,
            reserved_at_ms=0,
            evicted=False,
            preempting=False,
            parked=False,
            checks={},
        )
