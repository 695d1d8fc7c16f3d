"""Writes SVG: shapes and texts with classes of one stylesheet, for light and dark color schemes.

Each picture has a background, as GitHub's theme and the browser's color scheme may differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from xml.etree import ElementTree

FONT = 'system-ui, -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif'
WIDTH = 830
"""Width of a README's column on GitHub, so that texts are not scaled."""

SIZE, SMALL = 13, 12
"""Sizes of texts."""

CHARACTER, STRONG_CHARACTER = 0.55, 0.63
"""Average width of a character as a multiple of the font size, in the widest font that a browser may use."""

# By class: the property, and its values on light and on dark pages.
COLORS = {
    "page": ("fill", "#ffffff", "#0d1117"),
    "box": ("fill", "#f6f8fa", "#161b22"),
    "text": ("fill", "#1f2328", "#e6edf3"),
    "note": ("fill", "#59636e", "#9198a1"),
    "result": ("fill", "#0550ae", "#79c0ff"),
    "edge": ("stroke", "#d1d9e0", "#3d444d"),
    "arrow": ("stroke", "#59636e", "#9198a1"),
    "head": ("fill", "#59636e", "#9198a1"),
    "guide": ("stroke", "#afb8c1", "#545d68"),
    "quota": ("stroke", "#1f2328", "#e6edf3"),
    "reserved": ("stroke", "#54aeff", "#1f6feb"),
    "on-nodes": ("fill", "#0969da", "#388bfd"),
    "waiting": ("fill", "#afb8c1", "#6e7681"),
    "provisioning": ("fill", "#e3a008", "#d29922"),
    "running": ("fill", "#0969da", "#388bfd"),
    "preempted": ("fill", "#d1422f", "#f0653e"),
}
LINES = "{fill:none;stroke-width:1.5}"
STYLES = (
    f"text{{font-family:{FONT}}}",
    ".strong{font-weight:600}",
    f".arrow,.quota,.reserved{LINES}",
    ".reserved{stroke-width:3}",
    ".quota{stroke-dasharray:5 4}",
    ".edge,.guide{stroke-width:1}",
    ".guide{fill:none}",
    ".on-nodes{fill-opacity:.3}",
)

Anchor = Literal["start", "middle", "end"]


class Canvas:
    """One picture; later shapes are drawn over earlier ones. Lengths are in pixels."""

    def __init__(self, title: str, description: str, height: float) -> None:
        size = {"width": _number(WIDTH), "height": _number(height)}
        self._root = ElementTree.Element(
            "svg",
            {"xmlns": "http://www.w3.org/2000/svg", **size, "viewBox": f"0 0 {WIDTH} {_number(height)}"},
            role="img",
        )
        ElementTree.SubElement(self._root, "title").text = title
        ElementTree.SubElement(self._root, "desc").text = description
        ElementTree.SubElement(self._root, "style").text = stylesheet()
        self.box("page edge", 0.5, 0.5, WIDTH - 1, height - 1, round=8)

    def box(
        self, style: str, x: float, y: float, width: float, height: float, *, round: float = 0, says: str = ""
    ) -> None:
        """Draws a rectangle; browsers show `says` as its tooltip."""
        lengths = {"x": x, "y": y, "width": width, "height": height} | ({"rx": round} if round else {})
        drawn = self._draw("rect", style, **lengths)
        if says:
            ElementTree.SubElement(drawn, "title").text = says

    def circle(self, style: str, x: float, y: float, radius: float) -> None:
        """Draws a filled circle."""
        self._draw("circle", style, cx=x, cy=y, r=radius)

    def lines(self, style: str, points: Sequence[tuple[float, float]]) -> None:
        """Draws straight lines between consecutive points."""
        self._points("polyline", style, points)

    def area(self, style: str, points: Sequence[tuple[float, float]]) -> None:
        """Fills a polygon."""
        self._points("polygon", style, points)

    def arrow(self, points: Sequence[tuple[float, float]]) -> None:
        """Draws lines with an arrowhead at the last point; the last line must be horizontal or vertical."""
        self.lines("arrow", points)
        (x0, y0), (x, y) = points[-2:]
        dx, dy = (_sign(x - x0) * 7, _sign(y - y0) * 7)
        wide = (abs(dy) / 7 * 4, abs(dx) / 7 * 4)
        back = (x - dx, y - dy)
        sides = [(back[0] + wide[0], back[1] + wide[1]), (back[0] - wide[0], back[1] - wide[1])]
        self.area("head", [(x, y), *sides])

    def text(
        self,
        text: str,
        x: float,
        y: float,
        *,
        style: str = "text",
        size: float = 13,
        anchor: Anchor = "start",
    ) -> None:
        """Writes one line of text; `y` is its baseline."""
        drawn = self._draw("text", style, x=x, y=y, **{"font-size": size})
        if anchor != "start":
            drawn.set("text-anchor", anchor)
        drawn.text = text

    def svg(self) -> str:
        """Returns the picture as SVG; the output is deterministic."""
        ElementTree.indent(self._root, " ")
        return ElementTree.tostring(self._root, encoding="unicode") + "\n"

    def _points(self, name: str, style: str, points: Sequence[tuple[float, float]]) -> None:
        self._draw(name, style).set("points", " ".join(f"{_number(x)},{_number(y)}" for x, y in points))

    def _draw(self, name: str, style: str, **lengths: float) -> ElementTree.Element:
        values = {key: _number(length) for key, length in lengths.items()}
        return ElementTree.SubElement(self._root, name, {"class": style, **values})


def text_width(text: str, size: float = SIZE, style: str = "") -> float:
    """Returns the estimated width of a text in the widest font that a browser may use."""
    return len(text) * size * (STRONG_CHARACTER if "strong" in style else CHARACTER)


def stylesheet() -> str:
    """Returns the styles of all classes, including those for dark color schemes."""
    light = [f".{name}{{{key}:{color}}}" for name, (key, color, _) in COLORS.items()]
    dark = [f".{name}{{{key}:{color}}}" for name, (key, _, color) in COLORS.items()]
    return "".join([*STYLES, *light, f"@media(prefers-color-scheme:dark){{{''.join(dark)}}}"])


def _number(length: float) -> str:
    return f"{length:.1f}".removesuffix(".0")


def _sign(length: float) -> int:
    return (length > 0) - (length < 0)
