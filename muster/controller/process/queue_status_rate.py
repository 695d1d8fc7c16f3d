"""Which statuses of queues are written: all that changed; of many that change all the time, some in turn."""

from collections.abc import Callable, Container, Iterable
from typing import Any

from muster.cluster.relations import QueueKey
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.process.token_bucket import TokenBucket
from muster.kube.kinds import CHECKS, CLUSTER_QUEUES, LOCAL_QUEUES, Kind

INTERVAL_MS = 500
BURST, PER_S = 300, 150
# An admission changes the statuses of two queues, and each costs two thirds of the admission. Where all
# LocalQueues cannot have their turns, the ClusterQueues' statuses say more: of quotas, and of whole teams.
BUSY_INTERVAL_S = 10
BUSY_PER_S: dict[Kind[Any], int] = {CLUSTER_QUEUES: 10, LOCAL_QUEUES: 2, CHECKS: 2}


class QueueStatusRate:
    """Statuses that may not be right, at most once an interval; beyond a burst, the longest unwritten first.
    Under load, that of each queue about every BUSY_INTERVAL_S, and BUSY_PER_S of each kind."""

    def __init__(self) -> None:
        self._turns = {kind: _Turns(per_s) for kind, per_s in BUSY_PER_S.items()}
        self._due_ms = 0

    def mark(self, queues: Iterable[QueueKey]) -> None:
        """Notes that the statuses of these queues, or checks, may not be right any more."""
        for queue in queues:
            self._turns[queue[0]].marked.setdefault(queue)

    @property
    def due_ms(self) -> int | None:
        """When statuses may be written next; None if all are right."""
        return self._due_ms if any(turns.marked for turns in self._turns.values()) else None

    def choose(
        self,
        write_of: Callable[[QueueKey], PlannedWrite | None],
        at_ms: int,
        *,
        busy: bool,
        written: Container[QueueKey] = (),
    ) -> list[PlannedWrite]:
        """Returns the writes that are due. `write_of` returns that of a queue, None if its status is right.
        Those that are chosen keep their marks, as the API server may refuse them: they are the last in turn.
        Those that are `written` otherwise now keep their turns: one of two writes would be a conflict."""
        for turns in self._turns.values():
            turns.set_rate(at_ms, busy=busy)
        if at_ms < self._due_ms:
            return []
        self._due_ms = at_ms + INTERVAL_MS
        return [one for turns in self._turns.values() for one in turns.choose(write_of, at_ms, written)]


class _Turns:
    """The marked queues of one kind, in the order of their turns, and how many of them may be written."""

    def __init__(self, busy_per_s: int) -> None:
        self.marked: dict[QueueKey, None] = {}
        self._busy_per_s = busy_per_s
        self._bucket = TokenBucket(BURST, PER_S)

    def set_rate(self, at_ms: int, *, busy: bool) -> None:
        busy_per_s = min(self._busy_per_s, len(self.marked) / BUSY_INTERVAL_S)
        self._bucket.set_rate(busy_per_s if busy else PER_S, at_ms)

    def choose(
        self, write_of: Callable[[QueueKey], PlannedWrite | None], at_ms: int, written: Container[QueueKey]
    ) -> list[PlannedWrite]:
        left = self._bucket.available(at_ms)
        chosen: dict[QueueKey, PlannedWrite] = {}
        for queue in [queue for queue in self.marked if queue not in written]:
            if len(chosen) == left:
                break
            del self.marked[queue]
            if (planned := write_of(queue)) is not None:
                chosen[queue] = planned
        self._bucket.take(len(chosen), at_ms)
        self.marked.update(dict.fromkeys(chosen))
        return list(chosen.values())
