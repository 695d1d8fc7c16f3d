"""Rooms of the repository, and the ceilings of their counts, which are only ever lowered (ceilings.toml)."""

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path

CEILINGS = Path(__file__).with_name("ceilings.toml")
TURNS_TARGET = 3.0
"""Turns per 1,000 words that a room without an entry may have."""
NAMES_TARGET = 0
SUBDIVIDED = ("muster", "tests")
"""Folders whose subfolders are rooms."""
_HEADER = """\
# Ceilings of rooms that still have more foreign turns per 1,000 words than 3.0, or vague names than 0.
# `python -m tools prose --lower` writes this file; it lowers ceilings and never raises one.
"""


@dataclass(frozen=True)
class Count:
    """Counts of one room: words of prose, turns that Vale warns about, vague names."""

    words: int = 0
    turns: int = 0
    names: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(self.words + other.words, self.turns + other.turns, self.names + other.names)

    @property
    def rate(self) -> float:
        """Turns per 1,000 words, rounded up to a tenth."""
        return math.ceil(10_000 * self.turns / max(self.words, 1)) / 10


@dataclass(frozen=True)
class Ceiling:
    """The counts that a room may have."""

    rate: float = TURNS_TARGET
    names: int = NAMES_TARGET

    def holds(self, count: Count) -> bool:
        """Returns whether neither count exceeds its ceiling."""
        return count.rate <= self.rate and count.names <= self.names

    def lowered(self, count: Count) -> "Ceiling":
        """Returns the lowest ceiling that holds for `count`: never above this one, never below the target."""
        rate, names = max(count.rate, TURNS_TARGET), max(count.names, NAMES_TARGET)
        return Ceiling(min(self.rate, rate), min(self.names, names))


def room(path: str) -> str:
    """Returns the room of a file: its top-level folder, with the folder below it where that is subdivided."""
    parts = Path(path).parent.parts
    if not parts:
        return "."
    return "/".join(parts[: 2 if parts[0] in SUBDIVIDED else 1])


def read(text: str) -> dict[str, Ceiling]:
    """Parses the file of ceilings."""
    return {name: Ceiling(**values) for name, values in tomllib.loads(text).items()}


def write(ceilings: dict[str, Ceiling]) -> str:
    """Formats ceilings as the text of the file; those at the target need no entry."""
    lines = [
        f'"{name}" = {{ rate = {ceiling.rate}, names = {ceiling.names} }}\n'
        for name, ceiling in sorted(ceilings.items())
        if ceiling != Ceiling()
    ]
    return _HEADER + "".join(lines)
