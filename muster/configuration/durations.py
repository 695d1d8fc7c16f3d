"""Durations as text, such as 90s or 1h30m."""

import re
from collections.abc import Mapping
from fractions import Fraction

_PART = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>[a-z]+)")

SECONDS: Mapping[str, Fraction] = {
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 1000),
}
"""The units of Go's durations that Kueue's configuration uses."""


def seconds(text: str, units: Mapping[str, Fraction] = SECONDS) -> Fraction | None:
    """Returns the seconds of a duration with one or more parts; None if it is invalid."""
    parts = list(_PART.finditer(text))
    if not parts or "".join(part[0] for part in parts) != text:
        return None
    if any(part["unit"] not in units for part in parts):
        return None
    return sum((Fraction(part["number"]) * units[part["unit"]] for part in parts), Fraction(0))
