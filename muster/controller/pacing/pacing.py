"""The pace of the controller: one object for everything that limits passes and their writes."""

from collections.abc import Callable, Container
from operator import itemgetter

from muster.cluster.cluster_state import ClusterState
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.pacing.events import RepeatedEvents
from muster.controller.pacing.job_wait_writes import JobWaitWrite, JobWaitWrites, QueueOrder
from muster.controller.pacing.rates import ExplanationRate, Load, PassPace, QueueStatusRate
from muster.controller.passes.explanations import ExplanationLimits
from muster.controller.passes.pass_plan import PassPlan
from muster.controller.passes.queue_status import all_queues, queue_status

_key = itemgetter(1)  # of a QueueKey; kinds need no order, as each has its own rate

BACKOFF_MS_MIN = 100
BACKOFF_MS_MAX = 60_000
PERSISTS_MS = BACKOFF_MS_MIN << 5  # the back-off after six refusals in a row: not a transient error


class WriteBackoff(Container[str]):
    """The subjects whose last write was refused, until their back-offs end."""

    def __init__(self) -> None:
        self._refusals: dict[str, tuple[int, int]] = {}  # subject -> (refusals in a row, until_ms)
        self._now_ms = 0

    def at(self, now_ms: int) -> "WriteBackoff":
        """Sets the time for `in`, and drops subjects whose back-off ended long ago."""
        self._now_ms = now_ms
        recent_ms = now_ms - BACKOFF_MS_MAX
        self._refusals = {s: (n, until) for s, (n, until) in self._refusals.items() if until > recent_ms}
        return self

    def __contains__(self, subject: object) -> bool:
        return subject in self._refusals and self._refusals[subject][1] > self._now_ms

    def record_refusal(self, subject: str, now_ms: int) -> int:
        """Extends the subject's back-off. Returns its length in milliseconds."""
        count = self._refusals.get(subject, (0, 0))[0] + 1
        wait_ms = min(BACKOFF_MS_MIN << min(count - 1, 16), BACKOFF_MS_MAX)
        grain_ms = wait_ms // 4  # so that one pass retries many subjects together
        self._refusals[subject] = (count, -(-(now_ms + wait_ms) // grain_ms) * grain_ms)
        return wait_ms

    def forget(self, subject: str) -> None:
        """Ends the back-off of a subject whose write has succeeded."""
        self._refusals.pop(subject, None)

    def next_ms(self) -> int | None:
        """Returns the time at which the next back-off ends; None if there is none."""
        return min((until for _, until in self._refusals.values() if until > self._now_ms), default=None)


class Pacing:
    """Limits the passes of one controller and their writes. `at_ms` is a time of the monotonic clock,
    `now_ms` the same time of the wall clock."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        self.passes = PassPace(clock_s)
        self.backoff = WriteBackoff()
        self.repeated_events = RepeatedEvents()
        self.job_waits = JobWaitWrites()
        self._load = Load()
        self._explanations = ExplanationRate()
        self._explanations_due_ms: int | None = None
        self._queue_statuses = QueueStatusRate()
        self._last_writes = 0  # the number of writes of the last pass

    def limits(self, at_ms: int) -> ExplanationLimits:
        """Returns the number of workloads that the pass may explain."""
        return self._explanations.limits(at_ms)

    def decided(self, cluster: ClusterState, plan: PassPlan, now_ms: int, at_ms: int) -> None:
        """Records the decision of the pass that began at `at_ms`, before its writes."""
        self.passes.decided()
        writes = plan.writes
        self._load.record(
            at_ms,
            busy=bool(writes.stops or writes.before_reservations or writes.reservations),
            changes=self._changed_by_others(cluster),
        )
        self._explanations_due_ms = self._explanations.record(
            plan.explained, at_ms, now_ms, self._load.calm_ms
        )

    def _changed_by_others(self, cluster: ClusterState) -> int:
        """Returns the approximate number of Workloads that others have changed since the last pass, whose own
        writes are among the changes."""
        return len(cluster.marks.workloads) - self._last_writes if cluster.marks is not None else 0

    def wrote(self, writes: int) -> None:
        """Records the number of successful writes of the pass."""
        self._last_writes = writes

    def queue_status_writes(
        self, cluster: ClusterState, plan: PassPlan, now_ms: int, at_ms: int
    ) -> list[PlannedWrite]:
        """Returns the writes of queue statuses that are due."""
        counts, changed = plan.statistics.counts, plan.statistics.changed_queues
        # Sets are in arbitrary order: sorted, a simulation with the same seed makes the same writes.
        self._queue_statuses.mark(all_queues(cluster) if changed is None else sorted(changed, key=_key))
        return self._queue_statuses.choose(
            lambda queue: queue_status(queue, cluster, counts, now_ms),
            at_ms,
            busy=at_ms < self._load.calm_ms,
            written={(planned.write.kind, planned.write.key) for planned in plan.writes.before_reservations},
        )

    def job_wait_writes(
        self, cluster: ClusterState, plan: PassPlan, order: QueueOrder, now_ms: int, at_ms: int
    ) -> list[JobWaitWrite]:
        """Returns the annotations of waiting jobs that are due."""
        # A full pass also examines Workloads that have not changed.
        changed = plan.statistics.examined if cluster.marks is None else cluster.marks.workloads
        self.job_waits.compare(cluster, changed, at_ms)
        writes = plan.writes
        more_important = (*writes.stops, *writes.before_reservations, *writes.reservations)
        busy = {planned.subject for planned in more_important}
        return self.job_waits.choose(cluster, order, busy, now_ms, at_ms)

    def due_ms(self) -> int | None:
        """Returns when a delayed write is due: without a change of objects, the next pass may be far away."""
        due = (
            self.backoff.next_ms(),
            self._explanations_due_ms,
            self._queue_statuses.due_ms,
            self.job_waits.due_ms(),
        )
        return min((at_ms for at_ms in due if at_ms is not None), default=None)
