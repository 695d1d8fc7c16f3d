"""How many explanations of waiting workloads each pass may write."""

from muster.controller.passes.explanations import Explained, Limits
from muster.controller.process.token_bucket import TokenBucket

A_PASS = 50
BURST, PER_S = 200, 50  # of new reasons: each costs the API server as much as an admission
BUSY_PER_S = 5
INTERVAL_MS, BUSY_INTERVAL_MS = 1000, 30_000


class ExplanationRate:
    """New reasons are told at once, of many BURST and then PER_S; numbers, which change with every admission,
    A_PASS in an interval. Both are told less often under load."""

    def __init__(self) -> None:
        self._new = TokenBucket(BURST, PER_S)
        self._again_due_ms = 0

    def limits(self, at_ms: int) -> Limits:
        new = min(A_PASS, self._new.available(at_ms))
        return Limits(new, A_PASS * (at_ms >= self._again_due_ms))

    def record(self, explained: Explained, at_ms: int, now_ms: int, calm_ms: int) -> int | None:
        """Records what a pass explained at `at_ms`, which is `now_ms` on the clock of the explanations; there
        is load until `calm_ms`. Returns when the next explanations are due, if some are left."""
        busy = at_ms < calm_ms
        self._new.take(explained.new, at_ms)
        self._new.set_rate(BUSY_PER_S if busy else PER_S, at_ms)
        if explained.again:
            self._again_due_ms = at_ms + (BUSY_INTERVAL_MS if busy else INTERVAL_MS)
        due = []
        if explained.new_left:
            due.append(self._new.due_ms(BUSY_PER_S, at_ms))
            due += [calm_ms] if busy else []
        if explained.again_ms is not None:
            due.append(max(self._again_due_ms, at_ms + explained.again_ms - now_ms))
        return min(due, default=None)
