"""How often the reasons of waiting workloads are written: their numbers change with every admission."""

from collections.abc import Iterable

from muster.controller.gangs.planned_write import PlannedWrite

WRITE_INTERVAL_MS = 10_000
WRITES_A_PASS_MAX = 50


class WaitReasonInterval:
    """Remembers when the reason of each workload was last written, within an interval."""

    def __init__(self) -> None:
        self._written_ms: dict[str, int] = {}  # workload -> when; oldest first

    def due(self, writes: Iterable[PlannedWrite], now_ms: int) -> tuple[list[PlannedWrite], int | None]:
        """Returns the writes that are due now, and when the next one is: new reasons, which have an event, at
        once; new numbers once an interval."""
        due: list[PlannedWrite] = []
        next_ms: int | None = None
        for planned in writes:
            due_ms = self._written_ms.get(planned.subject, -WRITE_INTERVAL_MS) + WRITE_INTERVAL_MS
            if planned.events or due_ms <= now_ms:
                due.append(planned)
            else:
                next_ms = due_ms if next_ms is None else min(next_ms, due_ms)
        if len(due) > WRITES_A_PASS_MAX:
            next_ms = now_ms
        return due[:WRITES_A_PASS_MAX], next_ms

    def record(self, writes: Iterable[PlannedWrite], now_ms: int) -> None:
        """Remembers these writes; forgets those that are an interval old."""
        for planned in writes:
            self._written_ms.pop(planned.subject, None)
            self._written_ms[planned.subject] = now_ms
        while self._written_ms and self._oldest_ms() + WRITE_INTERVAL_MS <= now_ms:
            del self._written_ms[next(iter(self._written_ms))]

    def _oldest_ms(self) -> int:
        return next(iter(self._written_ms.values()))
