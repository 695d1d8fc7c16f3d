"""Measures how long conditions have lasted, by a monotonic clock.

Times in objects come from the wall clock of the API server or of the controller that wrote them. If one of
these jumps by an hour, a gang that must stop would be overdue at once, or not for an hour.
"""


class Durations:
    """Counts a condition as lasting from one pass to the next if both asked for it.

    For conditions that the first pass of a process finds, the times in the objects count: only these tell how
    long KubeRay has had. Later ones are timed from the pass that sees them first."""

    def __init__(self) -> None:
        self._passes = 0
        self._at_ms = 0
        self._since: dict[tuple[str, str], int] = {}
        self._before: dict[tuple[str, str], int] = {}

    def turn(self, at_ms: int) -> None:
        """Begins a pass at `at_ms`, which never goes back."""
        self._passes += 1
        self._at_ms = at_ms
        self._before, self._since = self._since, {}

    def lasted_ms(self, what: str, uid: str, told_ms: int) -> int:
        """Returns how long `what` has lasted for `uid`; `told_ms`: the same by the objects."""
        at = (what, uid)
        since_ms = self._before.get(at, self._since.get(at))
        if since_ms is None:
            since_ms = self._at_ms - (max(0, told_ms) if self._passes <= 1 else 0)
        self._since[at] = since_ms
        return self._at_ms - since_ms
