"""Durations, counts and shares as text of the page's tables."""

from itertools import pairwise

UNITS_S = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
MINUS = "\N{MINUS SIGN}"


def duration(seconds: float) -> str:
    """Returns `3 d 4 h`, `12 min`, `45 s`, `0.3 s` or `0 s`: rounded to a tenth or better."""
    if seconds < 0:
        return f"{MINUS}{duration(-seconds)}"
    if round(seconds, 1) < 10:
        return f"{round(seconds, 1):g} s"
    for (unit, size), (smaller, part) in pairwise(UNITS_S):
        if (parts := round(seconds / part)) < size // part:
            continue
        whole, remainder = divmod(parts, size // part)
        if whole >= 10:
            return f"{round(seconds / size)} {unit}"
        return f"{whole} {unit} {remainder} {smaller}" if remainder else f"{whole} {unit}"
    return f"{round(seconds)} s"


def figure(value: float, unit: str) -> str:
    """Returns a figure of the summary in its unit: "s", "share" or "count"."""
    if unit == "s":
        return duration(value)
    if unit == "share":
        return f"{value * 100:.1f} %"
    return f"{round(value):,}"


def change_of(value: float, unit: str) -> str:
    """Returns a change with its sign, such as `+4 min`, or `±0` if it rounds to nothing."""
    text = figure(abs(value), unit)
    if text == figure(0, unit):
        return "±0"
    if unit == "share":
        text = text.replace("%", "points")
    return f"{'+' if value > 0 else MINUS}{text}"
