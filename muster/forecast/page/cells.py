"""Parts of cells that the page's tables share: ranges and changes."""

from muster.forecast.page.markup import Markup, element, joined
from muster.forecast.page.spread import PairedChange, Spread
from muster.forecast.page.wording import change_of, figure

NONE = "\N{EN DASH}"


def range_of(spread: Spread, unit: str) -> Markup:
    """Returns the range of a figure over the futures; empty if it does not vary."""
    low, high = figure(spread.low, unit), figure(spread.high, unit)
    if low == high:
        return Markup("")
    return element("small", f"{low} \N{EN DASH} {high}", class_="range")


def change_cell(change: PairedChange, unit: str, less_is_better: bool | None = True) -> Markup:
    """Returns a change with its direction as sign, triangle and color, and how many futures agree on it."""
    text = change_of(change.mean, unit)
    if text == "±0":
        return element("span", text, class_="same")
    grows = change.mean > 0
    direction = "grows" if grows else "falls"
    verdict = "same" if less_is_better is None else "worse" if grows == less_is_better else "better"
    shown = element("span", text, class_=f"{direction} {verdict}")
    if change.futures < 2:
        return shown
    return joined((shown, element("small", f"{change.agree} of {change.futures} agree", class_="range")))
