"""Virtual time: an event loop whose clock jumps to whatever is due next, so that hours pass in seconds."""

import asyncio
import selectors
from typing import Any

START_MS = 1_800_000_000_000  # since the epoch; any moment would do


class _Jump(selectors.SelectSelector):
    """Nothing is ever read or written: waiting means moving the clock. It starts at 0 s, where floats
    are finer than what the loop takes for the same moment."""

    now_s = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("everybody waits and nothing is due")
        self.now_s += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jump = _Jump()
        self.set_s = 0.0  # by so much the wall clock was put forward
        super().__init__(self._jump)

    def time(self) -> float:
        return self._jump.now_s

    def now_ms(self) -> int:
        """Returns the wall clock, which may be set."""
        return START_MS + round((self._jump.now_s + self.set_s) * 1000)
