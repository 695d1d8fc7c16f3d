"""Repeats notices about lasting problems now and then, as the API server drops events after an hour."""

NOTICE_INTERVAL_MS = 30 * 60_000
NOTICES_MAX = 10_000


class Notices:
    """Remembers when each notice was sent, until it is due again.

    Keeps the last NOTICES_MAX: more of them cost extra events, but no memory."""

    def __init__(self) -> None:
        self._told_ms: dict[tuple[str, str], int] = {}  # (subject, message) -> when; oldest first

    def is_due(self, subject: str, message: str, now_ms: int) -> bool:
        """Returns whether the notice is due, and records it as sent in that case."""
        while self._told_ms and self._oldest_ms() + NOTICE_INTERVAL_MS <= now_ms:
            self._forget_oldest()
        if (subject, message) in self._told_ms:
            return False
        if len(self._told_ms) >= NOTICES_MAX:
            self._forget_oldest()
        self._told_ms[subject, message] = now_ms
        return True

    def _oldest_ms(self) -> int:
        return next(iter(self._told_ms.values()))

    def _forget_oldest(self) -> None:
        del self._told_ms[next(iter(self._told_ms))]
