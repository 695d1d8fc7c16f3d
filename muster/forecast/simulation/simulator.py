"""Replays jobs through the admission core, event by event.

The core decides; this file only moves time, and does to the core's workloads what the controller would do:
a preempted gang keeps its quota until its pods are gone, a gang on queued nodes waits for them, a job that a
stock-out stopped goes back to its queue after its back-off.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from heapq import heappop, heappush

from muster import admission as core
from muster.forecast.assumptions import Assumptions
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.placement import PlacedJob
from muster.forecast.results.outcome import Attempts, End, Outcome, QueueCapacity
from muster.forecast.simulation.attempt import Running
from muster.forecast.simulation.futures import Future, RunTimes

NAMESPACE = "forecast"
DECISIONS_MAX = 100  # at one moment; a configuration in which gangs preempt each other in turns needs a bound


class Event(IntEnum):
    """Kinds of events; at one moment they happen in this order."""

    ENDED = 0  # the attempt's pods are gone
    PREEMPTED_GONE = 1
    STOCKED_OUT = 2
    FAILED = 3
    WAKE = 4  # time alone may change a decision


class Simulator:
    """One future of one configuration. `progress` is called with the share of jobs that have arrived."""

    def __init__(
        self,
        configuration: QueueConfiguration,
        jobs: Sequence[PlacedJob],
        assumptions: Assumptions,
        seed: int = 0,
    ) -> None:
        self._configuration, self._jobs, self._assumptions = configuration, jobs, assumptions
        self._future, self._seed = Future(seed, assumptions), seed
        self._run_times = RunTimes(jobs)
        self._engine = core.Engine(configuration.snapshot, configuration.rules)
        self._events: list[tuple[int, int, int, int]] = []  # time, kind, job, attempt
        self._running: dict[int, Running] = {}  # by job; those with quota
        self._left_ms: dict[int, int] = {}  # work that preempted and failed jobs have left
        self._tries: dict[int, int] = {}  # attempts so far, of jobs with more than one
        self._stock_outs: dict[int, int] = {}
        self._pending = 0  # workloads in the core without quota
        self._attempts = Attempts()
        self._flavors = {name: index for index, name in enumerate(sorted(configuration.snapshot.flavors))}
        self._wakes_ms = -1  # when time alone may change a decision; its event is among the events

    def run(self, progress: Callable[[float], None] | None = None) -> Outcome:
        now_ms = 0
        for now_ms in self._moments(progress):  # noqa: B007 - the last one counts
            pass
        self._cut_off(now_ms)
        queues = capacities(self._configuration)
        return Outcome(self._jobs, self._attempts, queues, now_ms, self._seed, tuple(self._flavors))

    def _moments(self, progress: Callable[[float], None] | None = None) -> Iterator[int]:
        """Yields each moment, before what happens then."""
        jobs, events, count, arrived = self._jobs, self._events, len(self._jobs), self._begin()
        while arrived < count or events:
            now_ms = jobs[arrived].submit_ms if arrived < count else events[0][0]
            if events and events[0][0] < now_ms:
                now_ms = events[0][0]
            yield now_ms
            while events and events[0][0] == now_ms:
                _, kind, job, attempt = heappop(events)
                self._happen(kind, job, attempt, now_ms)
            while arrived < count and jobs[arrived].submit_ms == now_ms:
                self._queue(arrived, now_ms)
                arrived += 1
                if progress is not None and not arrived % 1000:
                    progress(arrived / count)
            if self._pending:
                self._decide(now_ms)

    def _begin(self) -> int:
        """Returns the number of jobs that are there already."""
        return 0

    def waiting(self, now_ms: int) -> list[core.Waiting]:
        """Returns why jobs wait that never got quota."""
        return list(self._engine.waiting(now_ms))

    def _queue(self, job: int, queued_ms: int, requeue_ms: int | None = None) -> None:
        self._engine.put(self._queued(job, queued_ms, requeue_ms))
        self._pending += 1

    def _key(self, job: int) -> str:
        """Returns the key of its workload, whose name is the job's number."""
        return f"{NAMESPACE}/{job}"

    def _queued(self, job: int, queued_ms: int, requeue_ms: int | None) -> core.Workload:
        """Returns a job's workload without quota."""
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
        """Takes decisions until one changes nothing, as the controller does: each of its passes follows a
        change that it sees."""
        for _ in range(DECISIONS_MAX):
            plan = self._engine.decide(now_ms, explain=False)
            if not (plan.admissions or plan.preemptions or plan.drained or plan.displaced):
                break
            for preemption in plan.preemptions:
                self._preempt(_index(preemption.workload), now_ms)
            for key in (*plan.drained, *plan.displaced):
                self._preempt(_index(key), now_ms)
            for decision in plan.admissions:
                self._admit(_index(decision.workload), decision.admission, now_ms)
            if self._engine.settled or not self._pending:
                break
        next_ms = self._engine.next_ms
        if next_ms is not None and next_ms != self._wakes_ms:
            self._wakes_ms = next_ms
            heappush(self._events, (next_ms, Event.WAKE, -1, -1))

    def _admit(self, job: int, admission: core.Admission, now_ms: int) -> None:
        self._pending -= 1
        self._attempt(job, admission, now_ms)
        self._provide(job, admission, now_ms, now_ms)

    def _attempt(self, job: int, admission: core.Admission, reserved_ms: int) -> Running:
        """Begins a row of the outcome's attempts."""
        attempts = self._attempts
        self._tries[job] = self._tries.get(job, 0) + 1
        row = len(attempts.job)
        attempts.job.append(job)
        attempts.reserved_ms.append(reserved_ms)
        attempts.started_ms.append(-1)
        attempts.ended_ms.append(-1)
        attempts.end.append(End.HORIZON)
        attempts.flavor.append(self._flavors.get(_main_flavor(admission), -1))
        attempts.lost_ms.append(0)
        self._running[job] = running = Running(row, self._work_ms(job))
        return running

    def _provide(self, job: int, admission: core.Admission, reserved_ms: int, now_ms: int) -> None:
        """Waits for the gang's nodes, if they have to be provided, and for its start."""
        placed, provided_ms, tries = self._jobs[job], now_ms, self._tries[job] - 1
        if self._needs_nodes(placed.queue, admission):
            if self._future.is_stocked_out(placed.number, tries):
                at_ms = max(now_ms, reserved_ms + round(1000 * self._assumptions.stock_out_after_s))
                heappush(self._events, (at_ms, Event.STOCKED_OUT, job, self._running[job].row))
                return
            provided_ms = max(now_ms, reserved_ms + self._future.provisioning_ms(placed.number, tries))
        self._start(job, provided_ms + round(1000 * self._assumptions.start_up_s), now_ms)

    def _start(self, job: int, started_ms: int, now_ms: int) -> None:
        """Runs the gang from `started_ms`, which may be past, until it ends or fails."""
        running, placed = self._running[job], self._jobs[job]
        running.started_ms = self._attempts.started_ms[running.row] = started_ms
        from_ms, ends_ms = max(started_ms, now_ms), started_ms + running.work_ms
        fails_ms = self._future.failure_ms(placed.number, self._tries[job] - 1, placed.pods)
        if fails_ms is not None and from_ms + fails_ms < ends_ms:
            heappush(self._events, (from_ms + fails_ms, Event.FAILED, job, running.row))
        else:
            gone_ms = max(ends_ms, now_ms) + round(1000 * self._assumptions.cleanup_s)
            heappush(self._events, (gone_ms, Event.ENDED, job, running.row))

    def _work_ms(self, job: int) -> int:
        left = self._left_ms.get(job)
        if left is not None:
            return left
        placed = self._jobs[job]
        if placed.run_ms is not None:
            return placed.run_ms
        return self._future.run_ms(placed.number, self._run_times.history(placed))

    def _needs_nodes(self, queue: str, admission: core.Admission) -> bool:
        provisioned = self._configuration.provisioned.get(queue, frozenset())  # a deleted queue has none
        return bool(provisioned) and any(
            flavor in provisioned for assigned in admission.pod_sets for flavor in assigned.flavors.values()
        )

    def _preempt(self, job: int, now_ms: int) -> None:
        running = self._running[job]
        if running.is_leaving:
            return
        running.is_leaving = True
        if 0 <= running.started_ms <= now_ms:
            if running.started_ms + running.work_ms <= now_ms:
                return  # its work is done, and its pods are about to go
            self._keep_checkpoint(job, now_ms)
        else:
            self._attempts.started_ms[running.row] = -1
        self._attempts.end[running.row] = End.PREEMPTED
        # Also if it has not started, its pods have to be deleted; a gang that left at once could be admitted
        # and preempted again at the same moment, without end.
        gone_ms = now_ms + round(1000 * self._assumptions.termination_s)
        heappush(self._events, (gone_ms, Event.PREEMPTED_GONE, job, running.row))

    def _keep_checkpoint(self, job: int, now_ms: int) -> None:
        """Remembers the work that is left: all of it, or what came after the last checkpoint."""
        running, interval_ms = self._running[job], round(1000 * self._assumptions.checkpoint_interval_s)
        done_ms = min(now_ms - running.started_ms, running.work_ms)
        saved_ms = done_ms - done_ms % interval_ms if interval_ms else 0
        self._left_ms[job] = running.work_ms - saved_ms
        self._attempts.lost_ms[running.row] = done_ms - saved_ms
        if saved_ms:
            self._left_ms[job] += round(1000 * self._assumptions.restart_s)

    def _happen(self, kind: int, job: int, row: int, now_ms: int) -> None:
        running = self._running.get(job)
        if running is None or running.row != row:
            return  # a later attempt's, or a moment to decide at
        if kind == Event.PREEMPTED_GONE:
            self._give_back(job, now_ms, End.PREEMPTED)
            self._queue(job, self._jobs[job].submit_ms)
        elif kind == Event.ENDED and self._attempts.end[row] != End.PREEMPTED:
            self._give_back(job, now_ms, End.FINISHED)
            for memory in (self._left_ms, self._tries, self._stock_outs):
                memory.pop(job, None)
        elif kind == Event.FAILED and not running.is_leaving:
            self._keep_checkpoint(job, now_ms)
            self._give_back(job, now_ms, End.FAILED)
            self._queue(job, self._jobs[job].submit_ms)
        elif kind == Event.STOCKED_OUT and not running.is_leaving:
            self._retry_later(job, now_ms)

    def _retry_later(self, job: int, now_ms: int) -> None:
        """Requeues a job whose nodes there were none of: at the back of its queue, after its back-off."""
        failed = self._stock_outs[job] = self._stock_outs.get(job, 0) + 1
        self._give_back(job, now_ms, End.NOT_PROVISIONED)
        if failed > self._configuration.retries_max:
            return  # the controller deactivates it
        self._queue(job, now_ms, now_ms + 1000 * self._configuration.retry.wait_s(failed))

    def _give_back(self, job: int, now_ms: int, end: End) -> None:
        self._engine.remove(self._key(job))
        row = self._running.pop(job).row
        self._attempts.ended_ms[row] = now_ms
        self._attempts.end[row] = end

    def _cut_off(self, now_ms: int) -> None:
        for running in self._running.values():
            self._attempts.ended_ms[running.row] = now_ms


def _index(key: str) -> int:
    return int(key[key.index("/") + 1 :])


def _main_flavor(admission: core.Admission) -> str:
    """Returns the flavor of its accelerators, or of its first resource without any."""
    flavors = [(resource, f) for assigned in admission.pod_sets for resource, f in assigned.flavors.items()]
    return next((f for resource, f in flavors if "/" in resource), flavors[0][1])


def capacities(configuration: QueueConfiguration) -> list[QueueCapacity]:
    """Returns the queues with their own accelerators by flavor."""
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
