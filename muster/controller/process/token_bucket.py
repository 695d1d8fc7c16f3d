"""A limit of a rate that lets a burst through, as client-go's `flowcontrol` has it with QPS and Burst."""


class TokenBucket:
    """`burst` tokens at first, and `per_s` more a second until there are as many again."""

    def __init__(self, burst: int, per_s: float) -> None:
        self._burst, self._per_ms = burst, per_s / 1000
        self._tokens, self._at_ms = float(burst), 0

    def available(self, at_ms: int) -> int:
        return max(0, int(self._at(at_ms)))

    def take(self, count: int, at_ms: int) -> None:
        """Takes tokens; more than there are have to be made up for."""
        self._tokens, self._at_ms = self._at(at_ms) - count, at_ms

    def set_rate(self, per_s: float, at_ms: int) -> None:
        """From now on, `per_s` tokens are added in a second."""
        self._tokens, self._at_ms, self._per_ms = self._at(at_ms), at_ms, per_s / 1000

    def due_ms(self, count: int, at_ms: int) -> int:
        """Returns when `count` tokens are there, at the earliest now."""
        missing = min(count, self._burst) - self._at(at_ms)
        return at_ms + max(0, round(missing / self._per_ms))

    def _at(self, at_ms: int) -> float:
        return min(self._burst, self._tokens + max(0, at_ms - self._at_ms) * self._per_ms)
