"""Nodes of pools that the cluster autoscaler makes and removes, counted in accelerators."""

from collections import deque


class AutoscaledNodes:
    """Nodes of one flavor: at least `least` accelerators exist, and those in use within the last `idle_ms`.

    The cluster autoscaler removes a node that nothing has needed for that long. It removes whole nodes; here
    accelerators are counted, so part of a node can be gone.
    """

    def __init__(self, least: int, idle_ms: int) -> None:
        self._least, self._idle_ms = least, idle_ms
        self._used = 0
        # Amounts in use, falling, with the time until which each was reached; all later ones are lower.
        self._reached: deque[tuple[int, int]] = deque()

    def take(self, amount: int, now_ms: int) -> bool:
        """Returns whether nodes for it exist; if not, they are made."""
        exist = self._exist(now_ms)
        self._used += amount
        return self._used <= exist

    def give_back(self, amount: int, now_ms: int) -> None:
        reached = self._reached
        while reached and reached[-1][0] <= self._used:
            reached.pop()
        reached.append((self._used, now_ms))
        self._used -= amount

    def _exist(self, now_ms: int) -> int:
        while self._reached and self._reached[0][1] + self._idle_ms <= now_ms:
            self._reached.popleft()
        highest = self._reached[0][0] if self._reached else 0
        return max(self._least, self._used, highest)
