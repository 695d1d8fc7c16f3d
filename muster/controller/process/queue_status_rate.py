"""Which statuses of queues are written: all that changed; of many that change all the time, some in turn."""

from collections.abc import Callable, Container, Iterable

from muster.controller.cluster.relations import QueueKey
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.process.token_bucket import TokenBucket

INTERVAL_MS = 500
BURST, PER_S = 300, 300
BUSY_PER_S = 20  # an admission changes the statuses of two queues, and each costs as much as an admission


class QueueStatusRate:
    """Statuses that may not be right, at most once an interval; beyond a burst, the longest unwritten first,
    and fewer while the passes write more important things."""

    def __init__(self) -> None:
        self._bucket = TokenBucket(BURST, PER_S)
        self._due_ms = 0
        self._marked: dict[QueueKey, None] = {}  # in the order of their turns

    def mark(self, queues: Iterable[QueueKey]) -> None:
        """Notes that the statuses of these queues, or checks, may not be right any more."""
        for queue in queues:
            self._marked.setdefault(queue)

    @property
    def due_ms(self) -> int | None:
        """When statuses may be written next; None if all are right."""
        return self._due_ms if self._marked else None

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
        self._bucket.set_rate(BUSY_PER_S if busy else PER_S, at_ms)
        if at_ms < self._due_ms:
            return []
        self._due_ms = at_ms + INTERVAL_MS
        left = self._bucket.available(at_ms)
        chosen: dict[QueueKey, PlannedWrite] = {}
        for queue in [queue for queue in self._marked if queue not in written]:
            if len(chosen) == left:
                break
            del self._marked[queue]
            if (planned := write_of(queue)) is not None:
                chosen[queue] = planned
        self._bucket.take(len(chosen), at_ms)
        self.mark(chosen)
        return list(chosen.values())
