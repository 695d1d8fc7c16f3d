"""Virtual time: an event loop whose clock jumps to the next timer, so that hours pass in seconds."""

import asyncio
import selectors
from typing import Any

START_MS = 1_800_000_000_000  # since the epoch; any time would do


class _Jump(selectors.SelectSelector):
    """A selector without I/O: waiting advances the clock. It starts at 0 s, where floats are finer than
    the loop's clock resolution."""

    now_s = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("all tasks wait and no timer is due")
        self.now_s += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jump = _Jump()
        self.set_s = 0.0  # offset of the wall clock
        super().__init__(self._jump)

    def time(self) -> float:
        return self._jump.now_s

    def now_ms(self) -> int:
        """Returns the wall clock, which may be set."""
        return START_MS + round((self._jump.now_s + self.set_s) * 1000)
