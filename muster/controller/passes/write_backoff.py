"""Back-off after failed writes, by subject."""

from collections.abc import Container

BACKOFF_MS_MIN = 100
BACKOFF_MS_MAX = 60_000
PERSISTS_MS = BACKOFF_MS_MIN << 5  # the back-off after six refusals in a row: not a transient error


class WriteBackoff(Container[str]):
    """Subjects whose last write was refused, with the ends of their back-offs."""

    def __init__(self) -> None:
        self._refusals: dict[str, tuple[int, int]] = {}  # subject -> (refusals in a row, until_ms)
        self._now_ms = 0

    def at(self, now_ms: int) -> "WriteBackoff":
        """Sets the time for `in`, and drops subjects whose back-off ended long ago."""
        self._now_ms = now_ms
        recent_ms = now_ms - BACKOFF_MS_MAX
        self._refusals = {s: (n, until) for s, (n, until) in self._refusals.items() if until > recent_ms}
        return self

    def __contains__(self, subject: object) -> bool:
        return subject in self._refusals and self._refusals[subject][1] > self._now_ms

    def record_refusal(self, subject: str, now_ms: int) -> int:
        """Extends the subject's back-off. Returns its length in milliseconds."""
        count = self._refusals.get(subject, (0, 0))[0] + 1
        wait_ms = min(BACKOFF_MS_MIN << min(count - 1, 16), BACKOFF_MS_MAX)
        grain_ms = wait_ms // 4  # so that one pass retries many subjects together
        self._refusals[subject] = (count, -(-(now_ms + wait_ms) // grain_ms) * grain_ms)
        return wait_ms

    def forget(self, subject: str) -> None:
        self._refusals.pop(subject, None)

    def next_ms(self) -> int | None:
        """Returns the time at which the next back-off ends; None if there is none."""
        return min((until for _, until in self._refusals.values() if until > self._now_ms), default=None)
