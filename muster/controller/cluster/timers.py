"""Measures how long states have lasted, by a monotonic clock.

Times in objects come from the wall clock of the API server or of the controller that wrote them. If one of
these jumps by an hour, a gang that must stop would be overdue at once, or not for an hour.
"""


class MonotonicTimers:
    """Counts a state as lasting from one pass to the next if both asked for it.

    For states that the first pass of a process finds, the times in the objects count: only these tell how
    long KubeRay has had. Later ones are timed from the pass that sees them first."""

    def __init__(self) -> None:
        self._passes = 0
        self._at_ms = 0
        self._since: dict[tuple[str, str], int] = {}  # (state, UID) -> since when, asked for in this pass
        self._since_before: dict[tuple[str, str], int] = {}
        self._asked: set[str] = set()  # UIDs, in this pass

    def begin_pass(self, at_ms: int) -> None:
        """`at_ms` never goes back."""
        self._passes += 1
        self._at_ms = at_ms
        self._since_before, self._since = self._since, {}
        self._asked = set()

    def elapsed_ms(self, state: str, uid: str, by_objects_ms: int) -> int:
        """Returns how long the object with this UID has been in the state; `by_objects_ms` is the same by
        the times in the objects."""
        timer = (state, uid)
        since_ms = self._since_before.get(timer, self._since.get(timer))
        if since_ms is None:
            since_ms = self._at_ms - (max(0, by_objects_ms) if self._passes <= 1 else 0)
        self._since[timer] = since_ms
        self._asked.add(uid)
        return self._at_ms - since_ms

    @property
    def running(self) -> frozenset[tuple[str, str]]:
        """Returns the states, with UIDs, that this pass has asked for."""
        return frozenset(self._since)

    def is_timed(self, uid: str) -> bool:
        """Returns whether this pass asked for how long the object has been in some state. The next one has to
        ask again."""
        return uid in self._asked
