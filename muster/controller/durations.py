"""How long something has lasted, by a clock that nobody sets.

The times in objects are those of the API server's wall clock, or of the controller's that wrote them. Where
one of these leaps, by an hour say, a gang that has to stop would be late at once, or not for an hour.
"""


class Durations:
    """What is asked for in two passes in a row has lasted in between.

    What the first pass of a process finds has lasted as long as its objects say: nobody else knows how long
    KubeRay has had already. What begins later is timed from the pass that sees it first."""

    def __init__(self) -> None:
        self._passes = 0
        self._at_ms = 0
        self._since: dict[tuple[str, str], int] = {}
        self._before: dict[tuple[str, str], int] = {}

    def turn(self, at_ms: int) -> None:
        """A new pass begins; `at_ms` never goes back."""
        self._passes += 1
        self._at_ms = at_ms
        self._before, self._since = self._since, {}

    def lasted_ms(self, what: str, uid: str, told_ms: int) -> int:
        """`told_ms`: for how long by the times in the objects."""
        at = (what, uid)
        since_ms = self._before.get(at, self._since.get(at))
        if since_ms is None:
            since_ms = self._at_ms - (max(0, told_ms) if self._passes <= 1 else 0)
        self._since[at] = since_ms
        return self._at_ms - since_ms
