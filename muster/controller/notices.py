"""What stays wrong is told again now and then, as the API server forgets events after an hour."""

NOTICE_INTERVAL_MS = 30 * 60_000


class Notices:
    """Remembers what was told of whom, for as long as it need not be told again."""

    def __init__(self) -> None:
        self._told_ms: dict[tuple[str, str], int] = {}  # (subject, message) -> when; the oldest first

    def is_due(self, subject: str, message: str, now_ms: int) -> bool:
        """Whether it is to be told now. It counts as told then."""
        while self._told_ms and self._oldest_ms() + NOTICE_INTERVAL_MS <= now_ms:
            del self._told_ms[next(iter(self._told_ms))]
        if (subject, message) in self._told_ms:
            return False
        self._told_ms[subject, message] = now_ms
        return True

    def _oldest_ms(self) -> int:
        return next(iter(self._told_ms.values()))
