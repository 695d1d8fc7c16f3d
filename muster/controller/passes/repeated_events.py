"""Repeats events about lasting problems, as the API server drops events after an hour."""

REPEAT_INTERVAL_MS = 30 * 60_000
REMEMBERED_MAX = 10_000


class RepeatedEvents:
    """Remembers when each event was recorded, until it is due again.

    Keeps the last REMEMBERED_MAX: more of them cost extra events, but no memory."""

    def __init__(self) -> None:
        self._recorded_ms: dict[tuple[str, str], int] = {}  # (subject, message) -> when; oldest first

    def is_due(self, subject: str, message: str, now_ms: int) -> bool:
        """Returns whether the event is due, and remembers it as recorded in that case."""
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
