"""Whether the controller is under load: what can wait is then written less often."""

from muster.controller.process.token_bucket import TokenBucket

CALM_MS = 2000  # under load, passes that find nothing to start or stop lie between those that do
CHANGES_BURST, CHANGES_PER_S = 100, 20
"""More changed Workloads are load, even if nothing starts or stops: thousands may finish or arrive."""


class Load:
    """A pass that writes something important or finds many changes of others is load, for CALM_MS."""

    def __init__(self) -> None:
        self._usual = TokenBucket(CHANGES_BURST, CHANGES_PER_S)
        self.calm_ms = 0  # from when there is none, if later passes find none

    def record(self, at_ms: int, *, busy: bool, changes: int) -> None:
        """Records a pass; `busy`: it wrote something important. `changes` are the Workloads that others have
        changed since the last one."""
        usual = self._usual.available(at_ms)
        self._usual.take(min(usual, max(0, changes)), at_ms)
        if busy or changes > usual:
            self.calm_ms = at_ms + CALM_MS
