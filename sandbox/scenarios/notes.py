"""Lines about the course of a scenario, each with its time."""

import time
from dataclasses import dataclass, field

from tools.toolchain.steps import Screen


@dataclass(frozen=True)
class Notes:
    """Prints lines with the time since its creation."""

    screen: Screen
    began: float = field(default_factory=time.monotonic)

    def add(self, text: str) -> float:
        """Prints a line; returns its time in seconds."""
        seconds = time.monotonic() - self.began
        self.screen.line(f"  {seconds:5.1f} s  {text}")
        return seconds
