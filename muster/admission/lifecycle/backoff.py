"""The backoff of evicted workloads."""

from dataclasses import dataclass

_DOUBLINGS_MAX = 62  # further waits equal max_s in any case


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential backoff: delays double from `base_s` to `max_s`. The defaults are Kueue's for
    PodsReadyTimeout.

    Kueue (pkg/util/wait) adds a random jitter of 0.01 %, which Muster omits."""

    base_s: int = 60
    max_s: int = 3600

    def wait_s(self, attempt: int) -> int:
        """Returns the wait before an attempt; attempts are counted from 1."""
        return min(self.base_s << min(attempt - 1, _DOUBLINGS_MAX), self.max_s)
