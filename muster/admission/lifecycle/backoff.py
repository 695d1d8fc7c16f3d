"""How long an evicted gang stays out of its queue."""

from dataclasses import dataclass

_DOUBLINGS_MAX = 62  # beyond them every wait is the longest one


@dataclass(frozen=True, slots=True)
class Backoff:
    """The first wait in seconds; each further one is twice as long, up to the longest. The defaults
    are those after PodsReadyTimeout.

    Kueue (pkg/util/wait) adds a ten-thousandth of it by chance, which we leave out."""

    base_s: int = 60
    max_s: int = 3600

    def wait_s(self, attempt: int) -> int:
        """Before the `attempt`th new try, counted from 1."""
        return min(self.base_s << min(attempt - 1, _DOUBLINGS_MAX), self.max_s)
