"""Events of a simulation, in order of time."""

from enum import IntEnum
from heapq import heappop, heappush


class Event(IntEnum):
    """Kinds of events; at one moment they happen in this order."""

    ENDED = 0  # the attempt's pods are gone
    PREEMPTED_GONE = 1
    STOCKED_OUT = 2
    FAILED = 3
    WAKE = 4  # time alone may change a decision


class Events:
    """Events to come. `job` and `row` (of the outcome's attempts) are -1 for a moment to decide at."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int, int]] = []

    def add(self, at_ms: int, kind: Event, job: int = -1, row: int = -1) -> None:
        heappush(self._heap, (at_ms, kind, job, row))

    @property
    def next_ms(self) -> int | None:
        return self._heap[0][0] if self._heap else None

    def pop(self) -> tuple[int, int, int, int]:
        """Returns time, kind, job and row of the next event."""
        return heappop(self._heap)
