"""How soon a pass follows a change: at once, unless there were many passes lately."""

from collections.abc import Callable

INTERVAL_S, INTERVAL_S_MAX = 0.015, 0.15
DECIDING_SHARE = 20  # where many passes follow each other, deciding takes at most this part of the time
AT_ONCE_MAX = 5
"""More than the passes from a RayJob's creation to its start."""


class PassPace:
    """Lets AT_ONCE_MAX passes follow each other at once, and then one an interval, which decides on all
    changes that have arrived meanwhile: a burst of changes costs few passes. The interval is INTERVAL_S, and
    longer, up to INTERVAL_S_MAX, where each pass takes long to decide, as among thousands of queues."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        self._clock_s = clock_s
        self._interval_s = INTERVAL_S
        self._began_s = clock_s()
        self._due_s = self._began_s  # when the next pass would begin if there were one each interval

    def begin_pass(self) -> None:
        self._began_s = self._clock_s()
        self._due_s = max(self._due_s, self._began_s) + self._interval_s

    def decided(self) -> None:
        """Notes that the pass has decided, before it writes."""
        took_s = self._clock_s() - self._began_s
        self._interval_s = min(max(INTERVAL_S, DECIDING_SHARE * took_s), INTERVAL_S_MAX)
        # The passes before may have taken longer to decide: this one is followed after its own interval.
        self._due_s = min(self._due_s, self._began_s + AT_ONCE_MAX * self._interval_s)

    def pause_s(self) -> float:
        """Returns the pause before the next pass."""
        return max(0.0, self._due_s - (AT_ONCE_MAX - 1) * self._interval_s - self._clock_s())
