"""Moments at which something is to be looked at again."""

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Generic, TypeVar

K = TypeVar("K", str, tuple[str, ...])


class Timers(Generic[K]):
    """At most one moment for each key; setting it again replaces the former one."""

    __slots__ = ("_at_ms", "_heap")

    def __init__(self) -> None:
        self._at_ms: dict[K, int] = {}
        self._heap: list[tuple[int, K]] = []  # with moments that were replaced since

    def set(self, key: K, at_ms: int | None) -> None:
        """None: at no moment."""
        if at_ms is None:
            self._at_ms.pop(key, None)
        elif self._at_ms.get(key) != at_ms:
            self._at_ms[key] = at_ms
            heappush(self._heap, (at_ms, key))

    def fork(self) -> "Timers[K]":
        copy: Timers[K] = Timers()
        copy._at_ms, copy._heap = dict(self._at_ms), list(self._heap)
        return copy

    @property
    def next_ms(self) -> int | None:
        while self._heap and self._at_ms.get(self._heap[0][1]) != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take_due(self, now_ms: int) -> Iterator[K]:
        """Yields the keys whose moment has come, and forgets it."""
        while (next_ms := self.next_ms) is not None and next_ms <= now_ms:
            _, key = heappop(self._heap)
            del self._at_ms[key]
            yield key
