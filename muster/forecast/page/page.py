"""Writes the page: a template with styles, scripts, tables and data in one file."""

import html
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from muster.files.writing import write_text
from muster.forecast.limits import ExceededLimit
from muster.forecast.page.columns import JobTable, page_data
from muster.forecast.page.markup import ARROW, Markup, element, joined
from muster.forecast.page.most_delayed import longest_waits, most_delayed
from muster.forecast.page.side import ForecastSide
from muster.forecast.page.summary import summary
from muster.forecast.page.tables import (
    limits_list,
    most_delayed_table,
    remarks_section,
    summary_tiles,
    table_section,
)
from muster.forecast.page.wait_rows import queue_names, wait_rows
from muster.forecast.page.waits_table import waits_tables
from muster.forecast.page.wording import duration
from muster.forecast.report.assumed import Remark
from muster.forecast.report.tables import Table
from muster.forecast.results.comparison import Comparison, compare
from muster.forecast.results.waits import waits_by_group

ASSETS = files("muster.forecast.page") / "assets"
STYLES = ("vendor/uPlot.min.css", "base.css", "tables.css", "charts.css", "print.css")
SCRIPTS = (
    "format.js",
    "simulated_time.js",
    "decode.js",
    "order.js",
    "model.js",
    "lanes.js",
    "usage.js",
    "theme.js",
    "view.js",
    "axis.js",
    "usage_panel.js",
    "wait_panel.js",
    "panels.js",
    "tooltip.js",
    "bars.js",
    "timeline.js",
    "timeline_input.js",
    "search.js",
    "main.js",
)
"""The files, in the order in which they are concatenated."""


def write_page(
    sides: Sequence[ForecastSide],
    out: Path,
    limits: Sequence[ExceededLimit] = (),
    remarks: Sequence[Remark] = (),
    tables: Sequence[Table] = (),
) -> None:
    """Writes a self-contained HTML file for one side (a forecast) or two, the base first (a comparison), with
    the limits that the changed side exceeds, further tables, and the remarks about the simulation."""
    if len(sides) not in (1, 2) or not all(side.outcomes for side in sides):
        raise ValueError(f"{len(sides)} sides: expected one or two, each with at least one outcome")
    write_text(out, page_text(sides, limits, remarks, tables))


def page_text(
    sides: Sequence[ForecastSide],
    limits: Sequence[ExceededLimit] = (),
    remarks: Sequence[Remark] = (),
    tables: Sequence[Table] = (),
) -> str:
    """Returns the page's HTML."""
    names = [side.name for side in sides]
    table = JobTable([side.drawn for side in sides])
    waits = [[waits_by_group(outcome) for outcome in side.outcomes] for side in sides]
    comparison = compare(sides[0].outcomes, sides[1].outcomes) if len(sides) == 2 else Comparison((), ())
    delayed = (
        most_delayed(comparison.sufferers, sides[0].drawn, sides[1].drawn)
        if len(sides) == 2
        else longest_waits(sides[0].drawn)
    )
    title = " \N{RIGHTWARDS ARROW} ".join(names)
    return _filled(
        asset("page.html"),
        {
            "title": html.escape(title),
            "heading": _heading(names),
            "facts": _facts(sides, table),
            "style": "\n".join(map(asset, STYLES)),
            "license": asset("vendor/uPlot.LICENSE.txt"),
            "library": asset("vendor/uPlot.iife.min.js"),
            "script": "\n".join(map(asset, SCRIPTS)),
            "limits": limits_list(limits),
            "summary": summary_tiles(summary(sides, waits)),
            "waits": waits_tables(wait_rows(sides, waits, comparison), names),
            "delayed_about": _delayed_about(names),
            "delayed": most_delayed_table(delayed, names),
            "tables": joined(map(table_section, tables)),
            "assumed": remarks_section(remarks),
            "data": page_data(sides, table),
        },
    )


def _heading(names: Sequence[str]) -> Markup:
    if len(names) == 1:
        return element("h1", names[0])
    return element("h1", names[0], ARROW, names[1])


def _facts(sides: Sequence[ForecastSide], table: JobTable) -> Markup:
    queues = queue_names(sides)
    futures = max(len(side.outcomes) for side in sides)
    facts = [
        (f"{len(table.jobs):,}", "job" if len(table.jobs) == 1 else "jobs"),
        (f"{len(queues):,}", "ClusterQueue" if len(queues) == 1 else "ClusterQueues"),
        (duration(max(side.drawn.end_ms for side in sides) / 1000), "simulated"),
        (f"{futures:,}", "future" if futures == 1 else "futures"),
    ]
    written = [element("li", element("strong", number), f" {name}") for number, name in facts]
    if futures > 1:
        seed = sides[0].drawn.seed
        written.append(element("li", f"charts show seed {seed}; ranges are the 10th to 90th percentile"))
    return joined(written)


def _delayed_about(names: Sequence[str]) -> Markup:
    if len(names) == 1:
        return joined(("The longest waits. Select a job to show it in the timeline.",))
    about = (
        f"Jobs whose wait grows most from {names[0]} to {names[1]}. Select one to show it in the timeline."
    )
    return joined((about,))


def asset(name: str) -> str:
    """Returns the text of an asset."""
    return (ASSETS / name).read_text(encoding="utf-8")


def _filled(template: str, parts: Mapping[str, str]) -> str:
    """Fills in all parts in one pass, so that placeholders in a part's own text are not replaced."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match.group(1)], template)
