"""Pixels of canvases, counted by color."""

from dataclasses import dataclass

from playwright.sync_api import Locator

_COUNT = """canvas => {
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
  copy.drawImage(canvas, 0, 0);
  const {data} = copy.getImageData(0, 0, canvas.width, canvas.height);
  const counts = {};
  for (let i = 0; i < data.length; i += 4) {
    const color = `${data[i]},${data[i + 1]},${data[i + 2]},${data[i + 3]}`;
    counts[color] = (counts[color] ?? 0) + 1;
  }
  return counts;
}"""


@dataclass(frozen=True)
class Pixels:
    """Numbers of pixels by color as `red,green,blue,alpha`."""

    counts: dict[str, int]

    def of(self, color: str) -> int:
        """Returns how many pixels have exactly this color, such as #2866c8."""
        red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
        return self.counts.get(f"{red},{green},{blue},255", 0)

    @property
    def most_frequent(self) -> str:
        """The color of most pixels, such as #2866c8."""
        red, green, blue, _ = max(self.counts, key=lambda color: self.counts[color]).split(",")
        return f"#{int(red):02x}{int(green):02x}{int(blue):02x}"


def pixels(canvas: Locator) -> Pixels:
    """Counts the pixels of a canvas."""
    return Pixels(canvas.evaluate(_COUNT))


def color(canvas: Locator, name: str) -> str:
    """Returns the current color of a name in the style sheet, such as `in-use`."""
    pixel: str = canvas.evaluate(
        "(_, name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()", name
    )
    return pixel
