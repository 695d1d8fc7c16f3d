"""Replays jobs through the admission core, event by event.

The core decides. This module advances time and updates the core's workloads as the controller would: a
preempted gang holds its quota until its pods have terminated, and a job whose nodes were not provisioned is
requeued after its backoff.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from muster import admission as core
from muster.forecast.assumptions import Assumptions
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.learning.delays import AS_ASSUMED, Delays
from muster.forecast.placement import PlacedJob
from muster.forecast.results.outcome import End, QueueCapacity, SimulationOutcome
from muster.forecast.simulation.autoscaling import Autoscaling
from muster.forecast.simulation.budgets import SpentUsage
from muster.forecast.simulation.elastic import ElasticGangs
from muster.forecast.simulation.events import EventKind, Events
from muster.forecast.simulation.gangs import Gangs
from muster.translation.elastic import gang_of, is_surplus

NAMESPACE = "forecast"
DECISIONS_MAX = 100  # per moment: bounds configurations in which gangs preempt each other in turn


class Simulator:
    """Simulates one future of one configuration."""

    def __init__(
        self,
        configuration: QueueConfiguration,
        jobs: Sequence[PlacedJob],
        assumptions: Assumptions,
        seed: int = 0,
        delays: Delays = AS_ASSUMED,
    ) -> None:
        self._configuration, self._jobs, self._seed = configuration, jobs, seed
        self._engine = core.Engine(configuration.snapshot, configuration.rules)
        self._elastic = ElasticGangs(self._engine)
        self._spent = SpentUsage(configuration.snapshot, self._engine.budget_usage(0))
        self._events = Events()
        self._gangs = Gangs(configuration, jobs, assumptions, seed, self._events, delays)
        self._autoscaling = Autoscaling(
            configuration, jobs, assumptions, self._elastic, self._gangs, self._events, self._spent
        )
        self._stock_outs: dict[int, int] = {}
        self._finished: set[int] = set()  # jobs whose cancellation comes too late
        self._pending = 0  # workloads in the core without quota
        self._wakes_ms = -1  # next decision without another event; an event WAKE exists for it
        self._write_ms = 1000 * assumptions.admission_s
        self._written_ms = 0.0  # when all decisions made so far are written
        self._requeue_ms = round(1000 * assumptions.requeue_s)
        self._unpark_ms: int | None = None  # when inadmissible workloads are retried

    def run(self, progress: Callable[[float], None] | None = None) -> SimulationOutcome:
        """Simulates until nothing is left to happen. `progress` is called with the share of jobs that have
        arrived."""
        now_ms = 0
        for now_ms in self._moments(progress):  # noqa: B007 - the last one counts
            pass
        gangs, queues = self._gangs, capacities(self._configuration)
        gangs.close_attempts(now_ms)
        record = self._elastic.record
        record.close(now_ms)
        return SimulationOutcome(
            self._jobs,
            gangs.attempts,
            queues,
            now_ms,
            self._seed,
            tuple(gangs.flavors),
            record.growth,
            self._spent.outcomes(now_ms),
        )

    def _moments(self, progress: Callable[[float], None] | None = None) -> Iterator[int]:
        """Yields each moment before its events are handled."""
        jobs, events, count, arrived = self._jobs, self._events, len(self._jobs), self._begin()
        while True:
            now_ms = events.next_ms
            if arrived < count and (now_ms is None or jobs[arrived].submit_ms < now_ms):
                now_ms = jobs[arrived].submit_ms
            if now_ms is None:
                return
            yield now_ms
            has_events = events.next_ms == now_ms
            while events.next_ms == now_ms:
                _, kind, job, row = events.pop()
                self._handle(kind, job, row, now_ms)
            arrives = arrived < count and jobs[arrived].submit_ms == now_ms
            # The clock of a trace cannot order a release and an arrival of the same second. Quota that was
            # released is offered to jobs that wait for it; the core would offer it to new ones first. With
            # `requeue_s`, as Kueue's, new ones may be first.
            if has_events and arrives and self._waits and not self._requeue_ms:
                self._decide(now_ms)
            while arrived < count and jobs[arrived].submit_ms == now_ms:
                self._arrive(arrived, now_ms)
                arrived += 1
                if progress is not None and not arrived % 1000:
                    progress(arrived / count)
            if self._waits:
                self._decide(now_ms)

    @property
    def _waits(self) -> bool:
        """Returns whether a gang or growth waits for quota."""
        return bool(self._pending or self._elastic.pending)

    def _begin(self) -> int:
        """Prepares the initial state; returns the number of jobs in it."""
        return 0

    def waiting(self, now_ms: int) -> list[core.Waiting]:
        """Returns why jobs that never got quota wait."""
        return [waiting for waiting in self._engine.waiting(now_ms) if not is_surplus(waiting.workload)]

    def _queue(self, job: int, queued_ms: int, requeue_ms: int | None = None) -> None:
        workload = self._queued(job, queued_ms, requeue_ms)
        self._autoscaling.queue(job, workload)
        self._engine.put(workload)
        self._pending += 1

    def _arrive(self, job: int, now_ms: int) -> None:
        cancelled_ms = self._jobs[job].cancelled_ms
        if cancelled_ms == 0:
            return
        self._queue(job, now_ms)
        if cancelled_ms is not None:
            self._events.add(now_ms + cancelled_ms, EventKind.CANCELLED, job)

    def _cancel(self, job: int, now_ms: int) -> None:
        """Cancels a job that waits or holds quota. A job with a run time is cancelled only while it waits."""
        if job in self._gangs.running:
            if self._jobs[job].run_ms is None:
                self._gangs.cancel(job, now_ms)
        elif job in self._finished:
            return
        elif self._stock_outs.get(job, 0) <= self._configuration.retries_max:  # else it is deactivated
            self._engine.remove(self._key(job))
            self._pending -= 1

    def _is_cancelled(self, job: int, now_ms: int) -> bool:
        cancelled_ms = self._jobs[job].cancelled_ms
        if cancelled_ms is None or self._jobs[job].run_ms is not None:
            return False
        return self._jobs[job].submit_ms + cancelled_ms <= now_ms

    def _key(self, job: int) -> str:
        """Returns the key of the job's workload, named after the job's number."""
        return f"{NAMESPACE}/{job}"

    def _queued(self, job: int, queued_ms: int, requeue_ms: int | None) -> core.Workload:
        """Returns the workload of a job, without quota."""
        placed = self._jobs[job]
        return core.Workload(
            key=self._key(job),
            uid=f"{job:010}",
            cluster_queue=placed.queue,
            priority=placed.priority,
            queued_at_ms=queued_ms,
            pod_sets=placed.pod_sets,
            requeue_at_ms=requeue_ms,
        )

    def _decide(self, now_ms: int) -> None:
        """Decides until nothing changes, as the controller does: each of its passes follows a change that it
        observes."""
        unpark = self._unparks(now_ms)
        next_ms = self._engine.next_ms
        # Most events do not concern the queues in which gangs wait.
        if not self._engine.settled or (next_ms is not None and next_ms <= now_ms):
            self._decide_until_settled(now_ms, unpark)
            next_ms = self._engine.next_ms
        if next_ms is not None:
            self._wake(next_ms)

    def _decide_until_settled(self, now_ms: int, unpark: bool) -> None:
        for _ in range(DECISIONS_MAX):
            plan = self._engine.decide(now_ms, explain=False, unpark=unpark)
            if not (plan.admissions or plan.preemptions or plan.drained or plan.displaced):
                return
            self._carry_out(plan, now_ms)
            if self._engine.settled or not self._waits:
                return

    def _unparks(self, now_ms: int) -> bool:
        """Returns whether this decision also retries inadmissible workloads."""
        if not self._requeue_ms:
            return True
        unparks = self._unpark_ms is not None and self._unpark_ms <= now_ms
        if unparks:
            self._unpark_ms = None
        return unparks

    def _carry_out(self, plan: core.Plan, now_ms: int) -> None:
        """Writes the decisions of a plan one after the other. A gang holds quota from the decision on, before
        its admission is written."""
        if plan.preemptions or plan.drained or plan.displaced:
            self._evict(plan, now_ms)
        grown: dict[str, core.Admission] = {}
        for decision in plan.admissions:
            if is_surplus(decision.workload):
                grown[decision.workload] = decision.admission
            else:
                self._admit(_index(decision.workload), decision.admission, now_ms)
        if grown:
            jobs = {gang: _index(gang) for gang in map(gang_of, grown)}
            self._autoscaling.grow(grown, jobs, now_ms)

    def _evict(self, plan: core.Plan, now_ms: int) -> None:
        preempted = [preemption.workload for preemption in plan.preemptions]
        evicted = {key for key in (*preempted, *plan.drained, *plan.displaced) if not is_surplus(key)}
        for key in preempted:
            if key in evicted:
                self._preempt(_index(key), self._write(now_ms))
        for key in (*plan.drained, *plan.displaced):
            if key in evicted:
                self._preempt(_index(key), now_ms)
        shrinking = [key for key in preempted if is_surplus(key) and gang_of(key) not in evicted]
        if shrinking:
            by_job = [(_index(gang_of(key)), key) for key in shrinking]
            self._autoscaling.shrink(by_job, now_ms, self._write(now_ms))

    def _preempt(self, job: int, now_ms: int) -> None:
        self._gangs.preempt(job, now_ms)
        self._elastic.evict(job)

    def _admit(self, job: int, admission: core.Admission, now_ms: int) -> None:
        self._pending -= 1
        self._gangs.admit(job, admission, now_ms)
        self._spent.reserve(job, admission, now_ms)
        self._gangs.provide(job, admission, now_ms, self._write(now_ms))
        self._autoscaling.admit(job, admission, now_ms)

    def _write(self, now_ms: int) -> int:
        """Returns when a decision of this moment is written."""
        self._written_ms = max(self._written_ms, now_ms) + self._write_ms
        return round(self._written_ms)

    def _wake(self, at_ms: int) -> None:
        """Schedules a decision at `at_ms`, unless an event triggers one before."""
        if at_ms != self._wakes_ms:
            self._wakes_ms = at_ms
            self._events.add(at_ms, EventKind.WAKE)

    def _handle(self, kind: int, job: int, row: int, now_ms: int) -> None:
        """Handles an event."""
        if kind == EventKind.CANCELLED:
            self._cancel(job, now_ms)
            return
        if self._autoscaling.handle(kind, job, row, now_ms):
            return
        end = self._gangs.handle(kind, job, row, now_ms)
        if end is None:
            return
        self._engine.remove(self._key(job))
        self._elastic.remove(job, now_ms)
        if self._spent.release(job, now_ms):
            self._engine.update(replace(self._configuration.snapshot, spent=self._spent.spent()))
        if self._requeue_ms and self._unpark_ms is None:
            self._unpark_ms = now_ms + self._requeue_ms
            self._events.add(self._unpark_ms, EventKind.WAKE)
        if end in (End.FINISHED, End.CANCELLED) or self._is_cancelled(job, now_ms):
            self._stock_outs.pop(job, None)
            if self._jobs[job].cancelled_ms is not None:
                self._finished.add(job)
            self._job_ended(job)
        elif end is End.NOT_PROVISIONED:
            self._retry_later(job, row, now_ms)
        else:
            self._queue(job, self._jobs[job].submit_ms)

    def _job_ended(self, job: int) -> None:
        """Notes that a job has ended."""

    def _retry_later(self, job: int, row: int, now_ms: int) -> None:
        """Requeues a job that got no nodes at the back of its queue, after its backoff."""
        failed = self._stock_outs[job] = self._stock_outs.get(job, 0) + 1
        if failed > self._configuration.retries_max:
            self._gangs.attempts.end[row] = End.DEACTIVATED
            return
        self._queue(job, now_ms, now_ms + 1000 * self._configuration.retry.wait_s(failed))


def _index(key: str) -> int:
    return int(key[key.index("/") + 1 :])


def capacities(configuration: QueueConfiguration) -> list[QueueCapacity]:
    """Returns the queues with their nominal quota of accelerators, by flavor."""
    return [
        QueueCapacity(
            queue.name,
            queue.cohort or "",
            {
                quotas.flavor: sum(q.nominal for resource, q in quotas.quotas.items() if "/" in resource)
                for group in queue.groups
                for quotas in group.flavors
                if any("/" in resource for resource in quotas.quotas)
            },
        )
        for queue in configuration.snapshot.cluster_queues.values()
    ]
