"""Measures the duration of states with a monotonic clock.

Times in objects come from the wall clock of the API server or of the controller that wrote them. If such a
clock jumps by an hour, a gang that must stop would be overdue immediately, or an hour late.
"""


class MonotonicTimers:
    """Timers by state and object. A state lasts as long as every pass requests its timer.

    For states at the first pass of a process, the times in the objects are used, as no other source exists.
    Later states are timed from the first pass that observes them."""

    def __init__(self) -> None:
        self._passes = 0
        self._at_ms = 0
        self._since: dict[tuple[str, str], int] = {}  # (state, UID) -> start; requested in this pass
        self._since_before: dict[tuple[str, str], int] = {}
        self._requested: set[str] = set()  # UIDs, in this pass

    def begin_pass(self, at_ms: int) -> None:
        """Begins a pass; `at_ms` is the time of a monotonic clock."""
        self._passes += 1
        self._at_ms = at_ms
        self._since_before, self._since = self._since, {}
        self._requested = set()

    def elapsed_ms(self, state: str, uid: str, reported_ms: int) -> int:
        """Returns how long the object with this UID has been in the state; `reported_ms` is the duration
        according to the times in the objects."""
        timer = (state, uid)
        since_ms = self._since_before.get(timer, self._since.get(timer))
        if since_ms is None:
            since_ms = self._at_ms - (max(0, reported_ms) if self._passes <= 1 else 0)
        self._since[timer] = since_ms
        self._requested.add(uid)
        return self._at_ms - since_ms

    @property
    def running(self) -> frozenset[tuple[str, str]]:
        """The states, with UIDs, whose timers this pass has requested."""
        return frozenset(self._since)

    def is_timed(self, uid: str) -> bool:
        """Returns whether this pass has requested a timer of the object, so that the next pass must request
        it again."""
        return uid in self._requested
