"""Back-off after refused writes, by subject."""

from collections.abc import Container

BACKOFF_MS_MIN = 100
BACKOFF_MS_MAX = 60_000
PERSISTS_MS = BACKOFF_MS_MIN << 5  # the back-off after six refusals in a row: not a transient error


class WriteBackoff(Container[str]):
    """Subjects whose last write was refused, each with the time until which it is skipped."""

    def __init__(self) -> None:
        self._refusals: dict[str, tuple[int, int]] = {}  # subject -> (refusals in a row, until_ms)
        self._now_ms = 0

    def at(self, now_ms: int) -> "WriteBackoff":
        """Sets the time of `in`, and drops subjects that are not written any more."""
        self._now_ms = now_ms
        recent_ms = now_ms - BACKOFF_MS_MAX
        self._refusals = {s: (n, until) for s, (n, until) in self._refusals.items() if until > recent_ms}
        return self

    def __contains__(self, subject: object) -> bool:
        return subject in self._refusals and self._refusals[subject][1] > self._now_ms

    def record_refusal(self, subject: str, now_ms: int) -> int:
        """Returns the subject's new back-off in milliseconds."""
        count = self._refusals.get(subject, (0, 0))[0] + 1
        wait_ms = min(BACKOFF_MS_MIN << min(count - 1, 16), BACKOFF_MS_MAX)
        grain_ms = wait_ms // 4  # one pass retries many of them together
        self._refusals[subject] = (count, -(-(now_ms + wait_ms) // grain_ms) * grain_ms)
        return wait_ms

    def forget(self, subject: str) -> None:
        self._refusals.pop(subject, None)

    def next_ms(self) -> int | None:
        """Returns when the next back-off ends."""
        return min((until for _, until in self._refusals.values() if until > self._now_ms), default=None)
