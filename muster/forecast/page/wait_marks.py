"""Small charts of waits next to the table's figures: a line from the median to the 99th percentile, with a
dot at the median and a tick at the 90th, on a shared logarithmic scale."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from muster.forecast.page.markup import Markup, element
from muster.forecast.page.spread import Spread

WIDTH, MARGIN, LABEL_WIDTH = 110, 6, 32
STEPS = (("1 s", 1), ("1 min", 60), ("1 h", 3_600), ("1 d", 86_400))


@dataclass(frozen=True, slots=True)
class WaitScale:
    """Converts seconds to pixels. Waits below a second are drawn at the left end."""

    last_s: float

    @classmethod
    def up_to(cls, longest_s: float) -> "WaitScale":
        """Returns a scale up to the longest wait, at least two minutes."""
        return cls(max(120.0, longest_s))

    def x(self, seconds: float) -> str:
        """Returns the horizontal position of a wait, in pixels of the SVG."""
        share = math.log(max(seconds, 1)) / math.log(self.last_s)
        return f"{MARGIN + share * (WIDTH - 2 * MARGIN):.1f}"


def wait_marks(sides: Sequence[tuple[Spread, ...] | None], scale: WaitScale) -> Markup:
    """Returns one line per side; the base of two is dashed, as in the charts."""
    lines: list[Markup] = []
    for number, side in enumerate(sides):
        if side is not None:
            y = "10" if len(sides) == 1 else ("6", "14")[number]
            lines += _line(side, scale, y, "base" if number < len(sides) - 1 else "changed")
    return element("svg", *_grid(scale, 20), *lines, width=str(WIDTH), height="20", aria_hidden="true")


def scale_marks(scale: WaitScale) -> Markup:
    """Returns the labels of the scale for the head of the column, as many as fit."""
    labels: list[Markup] = []
    last = WIDTH + LABEL_WIDTH / 2
    for label, seconds in reversed(STEPS):
        if (x := float(scale.x(seconds))) <= last - LABEL_WIDTH:
            labels.append(element("text", label, x=f"{x}", y="10", text_anchor="middle"))
            last = x
    return element("svg", *labels, width=str(WIDTH), height="13", aria_hidden="true", class_="scale")


def _line(side: tuple[Spread, ...], scale: WaitScale, y: str, class_: str) -> list[Markup]:
    middle, high, highest = (scale.x(spread.mean) for spread in side)
    top, bottom = str(int(y) - 3), str(int(y) + 3)
    return [
        element("line", x1=middle, x2=highest, y1=y, y2=y, class_=class_),
        element("line", x1=high, x2=high, y1=top, y2=bottom, class_=f"{class_} stroke"),
        element("circle", cx=middle, cy=y, r="3", class_=class_),
    ]


def _grid(scale: WaitScale, height: int) -> list[Markup]:
    return [
        element("line", x1=scale.x(seconds), x2=scale.x(seconds), y1="0", y2=str(height), class_="grid")
        for _, seconds in STEPS
        if seconds <= scale.last_s
    ]
