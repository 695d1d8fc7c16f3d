"""The page's figures and tables as HTML."""

import re
from collections.abc import Sequence

from muster.forecast.limits import ExceededLimit
from muster.forecast.page.cells import NONE, change_cell, range_of
from muster.forecast.page.markup import Markup, element
from muster.forecast.page.most_delayed import Delayed
from muster.forecast.page.summary import Figure
from muster.forecast.page.wording import change_of, duration, figure
from muster.forecast.report.assumed import Remark, remarks_table
from muster.forecast.report.tables import Table


def summary_tiles(figures: Sequence[Figure]) -> Markup:
    """Returns a description list with one tile per figure."""
    return element("dl", *(_tile(item) for item in figures), class_="tiles")


def _tile(item: Figure) -> Markup:
    base, last = item.sides[0], item.sides[-1]
    shown = element("dd", figure(last.mean, item.unit), class_="figure")
    parts = [element("dt", item.name), shown, element("dd", range_of(last, item.unit), class_="of-futures")]
    if item.change is not None:
        before = element("span", f"base {figure(base.mean, item.unit)}", class_="muted")
        parts.append(element("dd", before, " ", change_cell(item.change, item.unit, item.less_is_better)))
    return element("div", *parts, class_="tile")


def limits_list(limits: Sequence[ExceededLimit]) -> Markup:
    """Returns a list of the exceeded limits; empty if there are none."""
    if not limits:
        return Markup("")
    items = (element("li", limit.sentence, class_="worse" if limit.by_change else None) for limit in limits)
    return element("ul", *items, class_="notice limits")


def most_delayed_table(jobs: Sequence[Delayed], names: Sequence[str]) -> Markup:
    """Returns the most delayed jobs; the button of a job shows it in the timeline."""
    two = len(names) == 2
    if not jobs:
        return element("p", "No job waits longer." if two else "No job waits.", class_="empty")
    columns = ["Job", "ClusterQueue", "Priority class"]
    numbers = [
        "Pods",
        "Accelerators",
        *(["Wait, base", "Wait, changed", "Change"] if two else ["Wait"]),
    ]
    head = [element("th", name, scope="col") for name in columns]
    head += [element("th", name, scope="col", class_="number") for name in numbers]
    return element(
        "table",
        element("caption", "Most delayed jobs", class_="hidden"),
        element("thead", element("tr", *head)),
        element("tbody", *(_delayed_row(delayed, two) for delayed in jobs)),
        class_="delayed",
    )


def remarks_section(remarks: Sequence[Remark]) -> Markup:
    """Returns the section of everything assumed and left out; a sentence if there is nothing."""
    if not remarks:
        return element("p", "Nothing: all rows of the trace are simulated as recorded.", class_="empty")
    (table,) = remarks_table(remarks)
    return _html_table(table, "assumed")


def table_section(table: Table) -> Markup:
    """Returns a section with a table of the reports."""
    name = f"table-{re.sub('[^a-z]+', '-', table.title.lower())}"
    scrolled = element(
        "div", _html_table(table, "report"), class_="wide", role="region", aria_labelledby=name, tabindex="0"
    )
    return element("section", element("h2", table.title, id=name), scrolled, aria_labelledby=name)


def _html_table(table: Table, class_: str) -> Markup:
    kinds = [None if number < table.numbers else "number" for number in range(len(table.columns))]
    head = [
        element("th", name.capitalize(), scope="col", class_=kind)
        for name, kind in zip(table.columns, kinds, strict=True)
    ]
    rows = [
        element("tr", *(element("td", cell, class_=kind) for cell, kind in zip(row, kinds, strict=True)))
        for row in table.rows
    ]
    return element(
        "table",
        element("caption", table.title, class_="hidden"),
        element("thead", element("tr", *head)),
        element("tbody", *rows),
        class_=class_,
    )


def _delayed_row(delayed: Delayed, two: bool) -> Markup:
    job = delayed.job
    button = element("button", job.name, type="button", class_="job", data_number=str(job.number))
    waits = [f"{'' if delayed.started else '≥ '}{duration(wait)}" for wait in delayed.waits_s]
    cells = [
        element("th", button, scope="row", class_="name"),
        element("td", job.queue),
        element("td", job.priority_class or NONE),
        element("td", f"{job.pods:,}", class_="number"),
        element("td", f"{job.accelerators:,}", class_="number"),
        *(element("td", wait, class_="number") for wait in waits),
    ]
    if two:
        longer = change_of(delayed.waits_s[1] - delayed.waits_s[0], "s")
        cells.append(element("td", element("span", longer, class_="grows worse"), class_="number"))
    return element("tr", *cells)
