"""Whether the controller is under load: what can wait is then written less often."""

CALM_MS = 2000  # under load, passes that find nothing to start or stop lie between those that do


class Load:
    """Passes that write something important, and CALM_MS after them, are load."""

    def __init__(self) -> None:
        self.calm_ms = 0  # from when there is none, if no pass writes anything important until then

    def record(self, at_ms: int, *, busy: bool) -> None:
        """Records a pass; `busy`: it wrote something important."""
        if busy:
            self.calm_ms = at_ms + CALM_MS
