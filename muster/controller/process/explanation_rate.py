"""How many explanations of waiting workloads each pass may write."""

from muster.controller.passes.explanations import Explained, Limits

A_PASS = 50
INTERVAL_MS, BUSY_INTERVAL_MS = 1000, 10_000


class ExplanationRate:
    """New reasons are told at once, A_PASS in each pass; numbers, which change with every admission, A_PASS
    in a second. While passes write more important things, new reasons are told A_PASS in a second, too,
    and numbers in ten."""

    def __init__(self) -> None:
        self._new_due_ms = self._again_due_ms = 0

    def limits(self, at_ms: int) -> Limits:
        return Limits(A_PASS * (at_ms >= self._new_due_ms), A_PASS * (at_ms >= self._again_due_ms))

    def record(self, explained: Explained, at_ms: int, now_ms: int, *, busy: bool) -> int | None:
        """Records what a pass explained at `at_ms`, which is `now_ms` on the clock of the explanations.
        `busy`: it wrote other things, too. Returns when the next explanations are due, if some are left."""
        if explained.new:
            self._new_due_ms = at_ms + INTERVAL_MS if busy else at_ms
        if explained.again:
            self._again_due_ms = at_ms + (BUSY_INTERVAL_MS if busy else INTERVAL_MS)
        due = [self._new_due_ms] if explained.new_left else []
        if explained.again_ms is not None:
            due.append(max(self._again_due_ms, at_ms + explained.again_ms - now_ms))
        return min(due, default=None)
