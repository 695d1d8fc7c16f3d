"""The files of the page: a template, one style sheet and one script, assembled from this project's assets."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.resources import files

from muster.forecast.page.page import asset as forecast_asset

ASSETS = files("muster.live.page") / "assets"
CHART_STYLES = ("base.css", "charts.css")
STYLES = ("page.css",)
CHART_SCRIPTS = (
    "format.js",
    "order.js",
    "lanes.js",
    "theme.js",
    "view.js",
    "axis.js",
    "bars.js",
    "timeline.js",
    "timeline_input.js",
    "tooltip.js",
)
"""Scripts of the forecast's page, which has the same timeline."""
SCRIPTS = (
    "wall_time.js",
    "elements.js",
    "tables.js",
    "list.js",
    "tree.js",
    "workers.js",
    "details.js",
    "gangs.js",
    "incidents.js",
    "estimates.js",
    "main.js",
)
FILES: Mapping[str, tuple[str, Callable[[], str]]]


@cache
def script() -> str:
    """Returns the script, wrapped in one function so that it defines no globals."""
    parts = [*map(forecast_asset, CHART_SCRIPTS), *map(_asset, SCRIPTS)]
    return "\n".join(["(() => {", '"use strict";', *parts, "})();", ""])


@cache
def styles() -> str:
    """Returns the style sheets of the page as one."""
    return "\n".join([*map(forecast_asset, CHART_STYLES), *map(_asset, STYLES)])


@cache
def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


FILES = {
    "/": ("text/html", partial(_asset, "page.html")),
    "/page.css": ("text/css", styles),
    "/page.js": ("text/javascript", script),
}
