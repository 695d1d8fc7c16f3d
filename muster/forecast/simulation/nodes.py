"""Nodes of pools that the cluster autoscaler resizes, counted in accelerators."""

from collections import deque


class AutoscaledNodes:
    """Nodes of one flavor: at least `least` accelerators exist, and as many as were in use within the last
    `idle_ms`.

    The cluster autoscaler removes a node that was unneeded for that time. It removes whole nodes; this
    simulation counts accelerators, so part of a node can disappear.
    """

    def __init__(self, least: int, idle_ms: int) -> None:
        self._least, self._idle_ms = least, idle_ms
        self._used = 0
        # A monotonic queue of (amount in use, last time it was in use); each amount is higher than all
        # later ones.
        self._reached: deque[tuple[int, int]] = deque()

    def take(self, amount: int, now_ms: int) -> bool:
        """Takes accelerators into use; returns whether their nodes exist. If not, nodes are added."""
        exist = self._exist(now_ms)
        self._used += amount
        return self._used <= exist

    def release(self, amount: int, now_ms: int) -> None:
        """Releases accelerators."""
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
