"""Draws a comparison of two engines: one row per figure, with a bar for each engine and the target."""

from __future__ import annotations

import msgspec

from tools.pictures.canvas import SMALL, WIDTH, Canvas, text_width

MARGIN, LEFT, BAR_END = 20.0, 246.0, 560.0
TITLE_Y, LEGEND_Y, ROWS_Y = 30.0, 56.0, 76.0
ROW, BAR = 46.0, 15.0


class Compared(msgspec.Struct):
    """One figure: both values, as numbers and as text, with their ratio and the target as text."""

    what: str
    muster: float
    kueue: float
    muster_text: str
    kueue_text: str
    ratio: str
    target: str
    met: bool


class Comparison(msgspec.Struct):
    """Figures of one configuration; `about` describes the machine and the date."""

    title: str
    about: str
    figures: list[Compared]

    @property
    def drawn(self) -> list[Compared]:
        """The figures with a target."""
        return [figure for figure in self.figures if figure.target]


def comparison(of: Comparison) -> str:
    """Returns the picture as SVG."""
    height = ROWS_Y + ROW * len(of.drawn) + 30
    canvas = Canvas(of.title, _description(of), height)
    canvas.text(of.title, MARGIN, TITLE_Y, style="text strong", size=14)
    x = LEFT
    for style, name in (("running", "Muster"), ("waiting", "Kueue (minimalkueue)")):
        canvas.box(style, x, LEGEND_Y - 10, 12, 12, round=2)
        canvas.text(name, x + 18, LEGEND_Y, size=SMALL)
        x += 18 + text_width(name, SMALL) + 14
    canvas.text("ratio, target", WIDTH - MARGIN, LEGEND_Y, style="note", size=SMALL, anchor="end")
    for number, figure in enumerate(of.drawn):
        _row(canvas, figure, ROWS_Y + ROW * number)
    canvas.text(of.about, MARGIN, height - 14, style="note", size=SMALL)
    return canvas.svg()


def _row(canvas: Canvas, figure: Compared, y: float) -> None:
    canvas.text(figure.what, MARGIN, y + BAR + 4)
    most = max(figure.muster, figure.kueue) or 1.0
    sides = (("running", figure.muster, figure.muster_text), ("waiting", figure.kueue, figure.kueue_text))
    for number, (style, value, says) in enumerate(sides):
        width = (BAR_END - LEFT) * value / most
        top = y + number * (BAR + 2)
        canvas.box(style, LEFT, top, width, BAR, says=f"{figure.what}: {says}")
        canvas.text(says, LEFT + width + 6, top + 12, size=SMALL)
    style = "text" if figure.met else "preempted"
    result = f"{figure.ratio}, {figure.target}{'' if figure.met else ': missed'}"
    canvas.text(result, WIDTH - MARGIN, y + BAR + 4, style=style, anchor="end")


def _description(of: Comparison) -> str:
    figures = [
        f"{f.what}: Muster {f.muster_text}, Kueue {f.kueue_text}, target {f.target}." for f in of.drawn
    ]
    return " ".join([of.title + ".", *figures])
