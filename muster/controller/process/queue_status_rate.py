"""Which statuses of queues are written: all that changed; of many that change all the time, some in turn."""

from collections.abc import Iterable

from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.process.token_bucket import TokenBucket

INTERVAL_MS = 500
BURST, PER_S = 100, 10  # an admission changes those of two queues, and each costs as much as an admission


class QueueStatusRate:
    """Statuses that changed, at most once an interval; beyond a burst, the longest unwritten first."""

    def __init__(self) -> None:
        self._bucket = TokenBucket(BURST, PER_S)
        self._due_ms = 0
        self._order: dict[str, None] = {}  # subjects since some were left, in the order of their last writes

    @property
    def due_ms(self) -> int:
        """When statuses may be written next."""
        return self._due_ms

    def choose(self, changed: Iterable[PlannedWrite], at_ms: int) -> tuple[list[PlannedWrite], bool]:
        """Returns the statuses to write now, and whether others are left to the next interval."""
        self._due_ms = at_ms + INTERVAL_MS
        by_subject = {planned.subject: planned for planned in changed}
        written = [by_subject.pop(subject) for subject in self._order if subject in by_subject]
        waiting = [*by_subject.values(), *written]
        chosen = waiting[: self._bucket.available(at_ms)]
        self._bucket.take(len(chosen), at_ms)
        if len(chosen) == len(waiting):
            self._order.clear()
            return chosen, False
        for planned in chosen:
            self._order.pop(planned.subject, None)
            self._order[planned.subject] = None
        return chosen, True
