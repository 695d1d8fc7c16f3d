"""Rates of passes, explanations and queue statuses, and the load that lowers them."""

from collections.abc import Callable, Container, Iterable
from typing import Any

from muster.cluster.relations import QueueKey
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.passes.explanations import Explained, ExplanationLimits
from muster.kube.kinds import CHECKS, CLUSTER_QUEUES, LOCAL_QUEUES, Kind


class TokenBucket:
    """Starts with `burst` tokens; `per_s` are added each second until it is full again.

    The same as QPS and Burst of client-go's `flowcontrol`."""

    def __init__(self, burst: int, per_s: float) -> None:
        self._burst, self._per_ms = burst, per_s / 1000
        self._tokens, self._at_ms = float(burst), 0

    def available(self, at_ms: int) -> int:
        """Returns the number of whole tokens; 0 while the balance is negative."""
        return max(0, int(self._at(at_ms)))

    def take(self, count: int, at_ms: int) -> None:
        """Takes tokens. The balance may become negative, which delays later takers."""
        self._tokens, self._at_ms = self._at(at_ms) - count, at_ms

    def set_rate(self, per_s: float, at_ms: int) -> None:
        """Changes the rate, which applies after `at_ms`."""
        self._tokens, self._at_ms, self._per_ms = self._at(at_ms), at_ms, per_s / 1000

    def due_ms(self, count: int, at_ms: int) -> int:
        """Returns when `count` tokens are available, at the earliest now."""
        missing = min(count, self._burst) - self._at(at_ms)
        return at_ms + max(0, round(missing / self._per_ms))

    def _at(self, at_ms: int) -> float:
        return min(self._burst, self._tokens + max(0, at_ms - self._at_ms) * self._per_ms)


CALM_MS = 2000  # under load, passes without starts and stops occur between passes with them
CHANGES_BURST, CHANGES_PER_S = 100, 20
"""More changed Workloads count as load, even if none starts or stops: thousands may finish or arrive."""


class Load:
    """Load lasts for CALM_MS after a pass that starts or stops gangs, or that follows many changes."""

    def __init__(self) -> None:
        self._usual = TokenBucket(CHANGES_BURST, CHANGES_PER_S)
        self.calm_ms = 0  # the end of the load

    def record(self, at_ms: int, *, busy: bool, changes: int) -> None:
        """Records a pass. `busy`: it starts or stops gangs. `changes` is the number of Workloads that others
        have changed since the last pass."""
        usual = self._usual.available(at_ms)
        self._usual.take(min(usual, max(0, changes)), at_ms)
        if busy or changes > usual:
            self.calm_ms = at_ms + CALM_MS


INTERVAL_S, INTERVAL_S_MAX = 0.015, 0.15
DECIDING_SHARE = 20  # deciding takes at most this part of the time while passes follow each other
PROMPT_PASSES_MAX = 5
"""Exceeds the number of passes between the creation of a RayJob and its start."""


class PassPace:
    """Lets PROMPT_PASSES_MAX passes follow each other without a pause, and then one in each interval. That
    pass decides on all changes that have arrived meanwhile, so a burst of changes costs few passes.

    The interval grows from INTERVAL_S to INTERVAL_S_MAX with the time that a pass takes to decide, as with
    thousands of queues."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        self._clock_s = clock_s
        self._interval_s = INTERVAL_S
        self._began_s = clock_s()
        self._due_s = self._began_s  # of the next pass, if there were one in each interval

    def begin_pass(self) -> None:
        """Records that a pass begins, and when the next one may."""
        self._began_s = self._clock_s()
        self._due_s = max(self._due_s, self._began_s) + self._interval_s

    def decided(self) -> None:
        """Records that the pass has decided, before it writes."""
        took_s = self._clock_s() - self._began_s
        self._interval_s = min(max(INTERVAL_S, DECIDING_SHARE * took_s), INTERVAL_S_MAX)
        # Slower passes before must not delay the next one: it follows after the interval of this pass.
        self._due_s = min(self._due_s, self._began_s + PROMPT_PASSES_MAX * self._interval_s)

    def pause_s(self) -> float:
        """Returns the pause before the next pass."""
        return max(0.0, self._due_s - (PROMPT_PASSES_MAX - 1) * self._interval_s - self._clock_s())


EXPLAINED_MAX = 50  # per pass, of each sort
EXPLAIN_BURST, EXPLAIN_PER_S = 200, 50  # new reasons: each costs the API server as much as an admission
EXPLAIN_BUSY_PER_S = 5
REFRESH_MS, REFRESH_BUSY_MS = 1000, 30_000


class ExplanationRate:
    """The number of pending workloads that a pass explains.

    New reasons are explained promptly, within a token bucket. Numbers, which change with each admission, are
    refreshed for EXPLAINED_MAX workloads in each interval. Both are rarer under load."""

    def __init__(self) -> None:
        self._new = TokenBucket(EXPLAIN_BURST, EXPLAIN_PER_S)
        self._refresh_due_ms = 0

    def limits(self, at_ms: int) -> ExplanationLimits:
        """Returns how many workloads a pass at `at_ms` may explain."""
        new = min(EXPLAINED_MAX, self._new.available(at_ms))
        return ExplanationLimits(new, EXPLAINED_MAX * (at_ms >= self._refresh_due_ms))

    def record(self, explained: Explained, at_ms: int, now_ms: int, calm_ms: int) -> int | None:
        """Records the explanations of a pass at `at_ms`, which is `now_ms` by the clock of the explanations;
        the load ends at `calm_ms`. Returns when the next explanations are due, if any are outstanding."""
        busy = at_ms < calm_ms
        self._new.take(explained.new, at_ms)
        self._new.set_rate(EXPLAIN_BUSY_PER_S if busy else EXPLAIN_PER_S, at_ms)
        if explained.again:
            self._refresh_due_ms = at_ms + (REFRESH_BUSY_MS if busy else REFRESH_MS)
        due = []
        if explained.new_left:
            due.append(self._new.due_ms(EXPLAIN_BUSY_PER_S, at_ms))
            due += [calm_ms] if busy else []
        if explained.again_ms is not None:
            due.append(max(self._refresh_due_ms, at_ms + explained.again_ms - now_ms))
        return min(due, default=None)


STATUS_INTERVAL_MS = 500
STATUS_BURST, STATUS_PER_S = 300, 150
# An admission changes the statuses of two queues, and each write costs two thirds of an admission. Under
# load, ClusterQueues are preferred to LocalQueues, as their statuses cover quotas and entire teams.
STATUS_BUSY_INTERVAL_S = 10
STATUS_BUSY_PER_S: dict[Kind[Any], int] = {CLUSTER_QUEUES: 10, LOCAL_QUEUES: 2, CHECKS: 2}


class QueueStatusRate:
    """Selects the queues whose statuses are written: outdated ones, at most once in each interval. Beyond a
    burst, the status that has not been written for the longest time is first.

    Under load, each queue gets about one write in STATUS_BUSY_INTERVAL_S, within STATUS_BUSY_PER_S of its
    kind."""

    def __init__(self) -> None:
        self._queues = {kind: _OutdatedQueues(per_s) for kind, per_s in STATUS_BUSY_PER_S.items()}
        self._due_ms = 0

    def mark(self, queues: Iterable[QueueKey]) -> None:
        """Records that the statuses of these queues, or checks, may be outdated."""
        for queue in queues:
            self._queues[queue[0]].marked.setdefault(queue)

    @property
    def due_ms(self) -> int | None:
        """The time of the next writes; None if no status is outdated."""
        return self._due_ms if any(queues.marked for queues in self._queues.values()) else None

    def choose(
        self,
        write_of: Callable[[QueueKey], PlannedWrite | None],
        at_ms: int,
        *,
        busy: bool,
        written: Container[QueueKey] = (),
    ) -> list[PlannedWrite]:
        """Returns the writes that are due. `write_of` returns the write of a queue, None if its status is up
        to date. A chosen queue stays marked, behind all others, as the API server may refuse its write.
        Queues in `written` are skipped: the pass writes them already, and a second write would conflict."""
        for queues in self._queues.values():
            queues.set_rate(at_ms, busy=busy)
        if at_ms < self._due_ms:
            return []
        self._due_ms = at_ms + STATUS_INTERVAL_MS
        return [w for queues in self._queues.values() for w in queues.choose(write_of, at_ms, written)]


class _OutdatedQueues:
    """The marked queues of one kind, in the order in which they are written, and their rate."""

    def __init__(self, busy_per_s: int) -> None:
        self.marked: dict[QueueKey, None] = {}
        self._busy_per_s = busy_per_s
        self._bucket = TokenBucket(STATUS_BURST, STATUS_PER_S)

    def set_rate(self, at_ms: int, *, busy: bool) -> None:
        busy_per_s = min(self._busy_per_s, len(self.marked) / STATUS_BUSY_INTERVAL_S)
        self._bucket.set_rate(busy_per_s if busy else STATUS_PER_S, at_ms)

    def choose(
        self, write_of: Callable[[QueueKey], PlannedWrite | None], at_ms: int, written: Container[QueueKey]
    ) -> list[PlannedWrite]:
        available = self._bucket.available(at_ms)
        chosen: dict[QueueKey, PlannedWrite] = {}
        for queue in [queue for queue in self.marked if queue not in written]:
            if len(chosen) == available:
                break
            del self.marked[queue]
            if (planned := write_of(queue)) is not None:
                chosen[queue] = planned
        self._bucket.take(len(chosen), at_ms)
        self.marked.update(dict.fromkeys(chosen))
        return list(chosen.values())
