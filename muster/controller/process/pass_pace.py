"""How soon a pass follows a change: at once, unless there were many passes lately."""

from collections.abc import Callable

INTERVAL_S = 0.015
AT_ONCE_MAX = 5
"""More than the passes from a RayJob's creation to its start."""


class PassPace:
    """Lets AT_ONCE_MAX passes follow each other at once, and then one each INTERVAL_S, which decides on all
    changes that have arrived meanwhile: a burst of changes costs few passes."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        self._clock_s = clock_s
        self._due_s = clock_s()  # when the next pass would begin if there were one each INTERVAL_S

    def begin_pass(self) -> None:
        self._due_s = max(self._due_s, self._clock_s()) + INTERVAL_S

    def pause_s(self) -> float:
        """Returns the pause before the next pass."""
        return max(0.0, self._due_s - (AT_ONCE_MAX - 1) * INTERVAL_S - self._clock_s())
