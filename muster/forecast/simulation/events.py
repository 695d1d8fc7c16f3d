"""Events of a simulation, in order of time."""

from enum import IntEnum
from heapq import heappop, heappush


class EventKind(IntEnum):
    """Kinds of events, in the order in which simultaneous ones are handled."""

    ENDED = 0  # the pods of the attempt have terminated
    PREEMPTED = 1
    STOCKED_OUT = 2
    FAILED = 3
    CANCELLED = 4  # the user of a job cancels it; no row
    WAKE = 5  # a decision may change with time alone
    WORKERS_ENDED = 6  # preempted workers of an elastic gang that continues; the row is of the preemptions
    ASKS = 7  # an elastic gang has started, and asks for more workers
    DEMAND_CHANGED = 8  # an elastic gang asks for another number of workers; the row is of these changes
    NODES = 9  # an elastic gang has nodes for its growth, or may request them again; the row is of the wait


class Events:
    """The queue of future events. `job` and `row` (of the outcome's attempts, unless the kind says otherwise)
    are -1 for WAKE."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int, int]] = []

    def add(self, at_ms: int, kind: EventKind, job: int = -1, row: int = -1) -> None:
        """Adds an event."""
        heappush(self._heap, (at_ms, kind, job, row))

    @property
    def next_ms(self) -> int | None:
        """The time of the next event; None if there is none."""
        return self._heap[0][0] if self._heap else None

    def pop(self) -> tuple[int, int, int, int]:
        """Removes the next event; returns its time, kind, job and row."""
        return heappop(self._heap)
