"""Gangs that hold quota in a simulation: they wait for nodes, start, run, and terminate.

The core decides about quota; this module simulates the cloud, KubeRay and Ray under the assumptions.
"""

from collections import deque
from collections.abc import Callable, Sequence

from muster import admission as core
from muster.forecast.assumptions import Assumptions
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.learning.delays import AS_ASSUMED, Delays
from muster.forecast.main_flavor import main_flavor
from muster.forecast.placement import PlacedJob
from muster.forecast.results.outcome import Attempts, End
from muster.forecast.simulation.events import EventKind, Events
from muster.forecast.simulation.futures import Future, RunTimes


class AutoscaledNodes:
    """Nodes of one flavor: at least `least` accelerators exist, and as many as were in use within the last
    `idle_ms`.

    The cluster autoscaler removes a node that was unneeded for that time. It removes whole nodes; this
    simulation counts accelerators, so part of a node can disappear.
    """

    def __init__(self, least: int, idle_ms: int) -> None:
        self._least, self._idle_ms = least, idle_ms
        self._used = 0
        # A monotonic queue of (amount in use, last time it was in use); each amount is higher than all
        # later ones.
        self._reached: deque[tuple[int, int]] = deque()

    def take(self, amount: int, now_ms: int) -> bool:
        """Takes accelerators into use; returns whether their nodes exist. If not, nodes are added."""
        exist = self._exist(now_ms)
        self._used += amount
        return self._used <= exist

    def release(self, amount: int, now_ms: int) -> None:
        """Releases accelerators."""
        reached = self._reached
        while reached and reached[-1][0] <= self._used:
            reached.pop()
        reached.append((self._used, now_ms))
        self._used -= amount

    def _exist(self, now_ms: int) -> int:
        while self._reached and self._reached[0][1] + self._idle_ms <= now_ms:
            self._reached.popleft()
        highest = self._reached[0][0] if self._reached else 0
        return max(self._least, self._used, highest)


class Running:
    """An attempt that holds quota."""

    __slots__ = ("has_nodes", "is_terminating", "row", "started_ms", "work_ms")

    def __init__(self, row: int, work_ms: int) -> None:
        self.row = row  # in the outcome's attempts
        self.work_ms = work_ms
        self.started_ms = -1  # when the gang starts; -1: unknown
        self.is_terminating = False  # preempted, and holds quota until its pods have terminated
        self.has_nodes = True  # False: the cluster autoscaler must add nodes


class Gangs:
    """Gangs with quota, by job, in one future. Adds a row to `attempts` for each attempt, and its next event
    to `events`."""

    def __init__(
        self,
        configuration: QueueConfiguration,
        jobs: Sequence[PlacedJob],
        assumptions: Assumptions,
        seed: int,
        events: Events,
        delays: Delays = AS_ASSUMED,
    ) -> None:
        self._configuration, self._jobs, self._assumptions = configuration, jobs, assumptions
        self._future, self._run_times = Future(seed, assumptions, delays), RunTimes(jobs)
        self._events = events
        self.attempts = Attempts()
        self.on_start: Callable[[int, int, int], None] | None = (
            None  # called with the time, the job and its row
        )
        self.running: dict[int, Running] = {}
        self._remaining_ms: dict[int, int] = {}  # remaining work of preempted and failed jobs
        self._tries: dict[int, int] = {}  # number of attempts
        self.flavors = {name: index for index, name in enumerate(sorted(configuration.snapshot.flavors))}
        self._spot = {self.flavors[flavor] for flavor in configuration.spot if flavor in self.flavors}
        idle_ms = round(1000 * assumptions.scale_down_s)
        self._autoscaled = {
            self.flavors[flavor]: AutoscaledNodes(least, idle_ms)
            for flavor, least in configuration.autoscaled.items()
            if flavor in self.flavors
        }

    def admit(self, job: int, admission: core.Admission, reserved_ms: int) -> Running:
        """Begins an attempt: the gang holds quota from `reserved_ms` on; `provide` continues it."""
        attempts = self.attempts
        self._tries[job] = self._tries.get(job, 0) + 1
        row = len(attempts.job)
        flavor = self.flavors.get(_flavor_of(admission), -1)
        attempts.job.append(job)
        attempts.reserved_ms.append(reserved_ms)
        attempts.started_ms.append(-1)
        attempts.ended_ms.append(-1)
        attempts.end.append(End.HORIZON)
        attempts.flavor.append(flavor)
        attempts.lost_ms.append(0)
        self.running[job] = running = Running(row, self._work_ms(job))
        nodes = self._autoscaled.get(flavor)
        if nodes is not None:
            running.has_nodes = nodes.take(self._jobs[job].accelerators, reserved_ms)
        return running

    def provide(self, job: int, admission: core.Admission, reserved_ms: int, now_ms: int) -> None:
        """Schedules the start of the gang, after its nodes are provided if necessary."""
        placed, provided_ms, tries = self._jobs[job], now_ms, self._tries[job] - 1
        if self.needs_request(placed.queue, admission):
            if self._future.is_stocked_out(placed, tries):
                at_ms = max(now_ms, reserved_ms + round(1000 * self._assumptions.stock_out_after_s))
                self._events.add(at_ms, EventKind.STOCKED_OUT, job, self.running[job].row)
                return
            flavor, passed_ms = _flavor_of(admission), now_ms - reserved_ms
            delay_ms = self._future.provisioning_ms(placed, tries, flavor, passed_ms)
            provided_ms = max(now_ms, reserved_ms + delay_ms)
        elif not self.running[job].has_nodes:
            provided_ms = max(now_ms, reserved_ms + round(1000 * self._assumptions.scale_up_s))
        self.start(job, provided_ms + self._future.start_up_ms(placed, tries), now_ms)

    def start(self, job: int, started_ms: int, now_ms: int) -> None:
        """Runs the gang from `started_ms`, which may be in the past, until it ends or fails."""
        running, placed = self.running[job], self._jobs[job]
        running.started_ms = self.attempts.started_ms[running.row] = started_ms
        if self.on_start is not None:
            self.on_start(started_ms, job, running.row)
        from_ms, ends_ms = max(started_ms, now_ms), started_ms + running.work_ms
        spot = self.attempts.flavor[running.row] in self._spot
        fails_ms = self._future.failure_ms(placed, self._tries[job] - 1, placed.pods, spot=spot)
        if fails_ms is not None and from_ms + fails_ms < ends_ms:
            self._events.add(from_ms + fails_ms, EventKind.FAILED, job, running.row)
        elif placed.cancelled_ms is None or placed.run_ms is not None:  # else its cancellation ends it
            self.finish(job, max(ends_ms, now_ms))

    def finish(self, job: int, ends_ms: int) -> None:
        """Ends the work of the gang at `ends_ms`; its pods terminate shortly after."""
        terminated_ms = ends_ms + self._future.cleanup_ms(self._jobs[job], self._tries[job] - 1)
        self._events.add(terminated_ms, EventKind.ENDED, job, self.running[job].row)

    def cancel(self, job: int, now_ms: int) -> None:
        """Deletes the pods of the gang, as its user cancels the job."""
        running = self.running[job]
        if running.is_terminating:
            return
        if running.started_ms > now_ms:
            self.attempts.started_ms[running.row] = -1
        self.attempts.end[running.row] = End.CANCELLED
        self.finish(job, now_ms)

    def preempt(self, job: int, now_ms: int) -> None:
        """Deletes the pods of the gang at `now_ms`, which may be in the future; the gang holds quota until
        they have terminated."""
        running = self.running[job]
        if running.is_terminating:
            return
        if 0 <= running.started_ms <= now_ms and running.started_ms + running.work_ms <= now_ms:
            return  # its work ends before, or it has failed: it terminates without the preemption
        running.is_terminating = True
        if 0 <= running.started_ms <= now_ms:
            self._save_checkpoint(job, now_ms)
        else:
            self.attempts.started_ms[running.row] = -1
        self.attempts.end[running.row] = End.PREEMPTED
        # Pods must be deleted even if the gang has not started. If it released its quota immediately, it
        # could be
        # admitted and preempted again at the same moment, in an endless loop.
        terminated_ms = now_ms + self._future.termination_ms(self._jobs[job], self._tries[job] - 1)
        self._events.add(terminated_ms, EventKind.PREEMPTED, job, running.row)

    def handle(self, kind: int, job: int, row: int, now_ms: int) -> End | None:
        """Handles an event of an attempt. Returns how the gang releases its quota; None if it keeps it, or if
        the attempt has already ended otherwise."""
        running = self.running.get(job)
        if running is None or running.row != row:
            return None
        if kind == EventKind.PREEMPTED:
            return self._release_quota(job, now_ms, End.PREEMPTED)
        if kind == EventKind.ENDED and self.attempts.end[row] != End.PREEMPTED:
            self._remaining_ms.pop(job, None)
            self._tries.pop(job, None)
            is_cancelled = self.attempts.end[row] == End.CANCELLED
            return self._release_quota(job, now_ms, End.CANCELLED if is_cancelled else End.FINISHED)
        if kind == EventKind.FAILED and not running.is_terminating:
            self._save_checkpoint(job, now_ms)
            return self._release_quota(job, now_ms, End.FAILED)
        if kind == EventKind.STOCKED_OUT and not running.is_terminating:
            return self._release_quota(job, now_ms, End.NOT_PROVISIONED)
        return None

    def is_alive(self, job: int, row: int) -> bool:
        """Returns whether an attempt holds quota and is not being preempted."""
        running = self.running.get(job)
        return running is not None and running.row == row and not running.is_terminating

    def shrunk_ms(self, job: int, now_ms: int) -> int:
        """Returns when preempted workers of a gang that continues have ended: after the notice."""
        notice_ms = round(1000 * self._assumptions.notice_s)
        return now_ms + notice_ms + self._future.termination_ms(self._jobs[job], self._tries[job] - 1)

    def growth_nodes_ms(self, job: int, admission: core.Admission, passed_ms: int = 0) -> int:
        """Returns the delay of nodes for the growth of a gang, given that `passed_ms` of it have passed; 0 if
        they need no request."""
        placed = self._jobs[job]
        if not self.needs_request(placed.queue, admission):
            return 0
        return self._future.provisioning_ms(placed, self._tries[job], _flavor_of(admission), passed_ms)

    def close_attempts(self, now_ms: int) -> None:
        """Ends the rows of gangs that still hold quota."""
        for running in self.running.values():
            self.attempts.ended_ms[running.row] = now_ms

    def _release_quota(self, job: int, now_ms: int, end: End) -> End:
        """Removes the gang and releases its quota and nodes."""
        row = self.running.pop(job).row
        self.attempts.ended_ms[row] = now_ms
        self.attempts.end[row] = end
        nodes = self._autoscaled.get(self.attempts.flavor[row])
        if nodes is not None:
            nodes.release(self._jobs[job].accelerators, now_ms)
        return end

    def _work_ms(self, job: int) -> int:
        remaining_ms = self._remaining_ms.get(job)
        if remaining_ms is not None:
            return remaining_ms
        placed = self._jobs[job]
        if placed.run_ms is not None:
            return placed.run_ms
        if placed.cancelled_ms is not None:
            return placed.cancelled_ms  # an upper bound: it is cancelled before
        return self._future.run_ms(placed, self._run_times.history(placed))

    def needs_request(self, queue: str, admission: core.Admission) -> bool:
        """Returns whether an admission check must provide the nodes."""
        provisioned = self._configuration.provisioned.get(queue, frozenset())  # a deleted queue has none
        return bool(provisioned) and any(
            flavor in provisioned for assigned in admission.pod_sets for flavor in assigned.flavors.values()
        )

    def _save_checkpoint(self, job: int, now_ms: int) -> None:
        """Stores the remaining work: all of it, or the work after the last checkpoint."""
        running, interval_ms = self.running[job], round(1000 * self._assumptions.checkpoint_interval_s)
        done_ms = min(now_ms - running.started_ms, running.work_ms)
        saved_ms = done_ms - done_ms % interval_ms if interval_ms else 0
        self._remaining_ms[job] = running.work_ms - saved_ms
        self.attempts.lost_ms[running.row] = done_ms - saved_ms
        if saved_ms:
            self._remaining_ms[job] += round(1000 * self._assumptions.restart_s)


def _flavor_of(admission: core.Admission) -> str:
    return main_flavor(assigned.flavors for assigned in admission.pod_sets)
