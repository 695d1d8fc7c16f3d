"""Repeats events about lasting problems, as the API server drops events after an hour."""

REPEAT_INTERVAL_MS = 30 * 60_000
REMEMBERED_MAX = 10_000


class RepeatedEvents:
    """The times at which events were recorded, until they are due again.

    Limited to the last REMEMBERED_MAX events; older ones may be repeated too early."""

    def __init__(self) -> None:
        self._recorded_ms: dict[tuple[str, str], int] = {}  # (subject, message) -> when; oldest first

    def is_due(self, subject: str, message: str, now_ms: int) -> bool:
        """Returns whether the event is due, and marks it as recorded if so."""
        while self._recorded_ms and self._oldest_ms() + REPEAT_INTERVAL_MS <= now_ms:
            self._forget_oldest()
        if (subject, message) in self._recorded_ms:
            return False
        if len(self._recorded_ms) >= REMEMBERED_MAX:
            self._forget_oldest()
        self._recorded_ms[subject, message] = now_ms
        return True

    def _oldest_ms(self) -> int:
        return next(iter(self._recorded_ms.values()))

    def _forget_oldest(self) -> None:
        del self._recorded_ms[next(iter(self._recorded_ms))]
