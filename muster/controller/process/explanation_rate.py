"""How many explanations of waiting workloads each pass may write."""

from muster.controller.passes.explanations import Explained, Limits
from muster.controller.process.token_bucket import TokenBucket

A_PASS = 50
BUSY_PER_S = 10  # new reasons: each costs the API server as much as an admission
INTERVAL_MS, BUSY_INTERVAL_MS = 1000, 10_000
CALM_MS = 2000  # under load, passes that find nothing to start or stop lie between those that do


class ExplanationRate:
    """New reasons are told at once, A_PASS in each pass; numbers, which change with every admission, A_PASS
    in a second. While passes write more important things, and CALM_MS after that, new reasons are told
    A_PASS at once, then BUSY_PER_S, and numbers A_PASS in ten seconds."""

    def __init__(self) -> None:
        self._new = TokenBucket(A_PASS, BUSY_PER_S)
        self._calm_ms = self._again_due_ms = 0

    def limits(self, at_ms: int) -> Limits:
        new = A_PASS if at_ms >= self._calm_ms else self._new.available(at_ms)
        return Limits(new, A_PASS * (at_ms >= self._again_due_ms))

    def record(self, explained: Explained, at_ms: int, now_ms: int, *, busy: bool) -> int | None:
        """Records what a pass explained at `at_ms`, which is `now_ms` on the clock of the explanations.
        `busy`: it wrote other things, too. Returns when the next explanations are due, if some are left."""
        if at_ms >= self._calm_ms:
            self._new.fill()
        self._new.take(explained.new, at_ms)
        if busy:
            self._calm_ms = at_ms + CALM_MS
        calm_ms = max(at_ms, self._calm_ms)
        if explained.again:
            self._again_due_ms = at_ms + (INTERVAL_MS if calm_ms == at_ms else BUSY_INTERVAL_MS)
        due = [min(calm_ms, self._new.due_ms(BUSY_PER_S, at_ms))] if explained.new_left else []
        if explained.again_ms is not None:
            due.append(max(self._again_due_ms, at_ms + explained.again_ms - now_ms))
        return min(due, default=None)
