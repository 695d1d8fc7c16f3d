"""The page's figures and tables as HTML."""

from collections.abc import Sequence

from muster.forecast.page.markup import ARROW, Markup, element, joined
from muster.forecast.page.most_delayed import Delayed
from muster.forecast.page.spread import PairedChange, Spread
from muster.forecast.page.summary import Figure
from muster.forecast.page.wait_marks import WaitScale, scale_marks, wait_marks
from muster.forecast.page.wait_rows import STATISTICS, SideWaits, WaitRow
from muster.forecast.page.wording import change_of, duration, figure

NONE = "\N{EN DASH}"


def summary_tiles(figures: Sequence[Figure]) -> Markup:
    """Returns a description list with one tile per figure."""
    return element("dl", *(_tile(item) for item in figures), class_="tiles")


def _tile(item: Figure) -> Markup:
    base, last = item.sides[0], item.sides[-1]
    shown = element("dd", figure(last.mean, item.unit), class_="figure")
    parts = [element("dt", item.name), shown, element("dd", _range(last, item.unit), class_="of-futures")]
    if item.change is not None:
        before = element("span", f"base {figure(base.mean, item.unit)}", class_="muted")
        parts.append(element("dd", before, " ", _change(item.change, item.unit, item.less_is_better)))
    return element("div", *parts, class_="tile")


def waits_table(rows: Sequence[WaitRow], names: Sequence[str]) -> Markup:
    """Returns the waits by ClusterQueue and priority class, with the changes between two sides."""
    spreads = [spread for row in rows for side in row.sides if side for spread in side.statistics or ()]
    scale = WaitScale.up_to(max((spread.high for spread in spreads), default=0.0))
    return element(
        "table",
        element("caption", "Waits by ClusterQueue and priority class", class_="hidden"),
        _waits_head(names, scale),
        element("tbody", *(_wait_row(row, scale, len(names) == 2) for row in rows)),
        class_="waits",
    )


def _waits_head(names: Sequence[str], scale: WaitScale) -> Markup:
    two = len(names) == 2
    rows = "2" if two else None
    top = [element("th", "ClusterQueue, priority class", scope="col", rowspan=rows)]
    top += [
        element("th", name, scope="col", rowspan=rows, class_="number") for name in ("Jobs", "Never start")
    ]
    for label, _ in STATISTICS:
        top.append(
            element("th", label, scope="colgroup", colspan="3", class_="group")
            if two
            else element("th", label, scope="col", class_="number")
        )
    about = element("span", "Median to 99th percentile", class_="hidden")
    top.append(element("th", about, scale_marks(scale), scope="col", rowspan=rows, class_="marks"))
    head = [element("tr", *top)]
    if two:
        labels = ["Base", "Changed", "PairedChange"] * len(STATISTICS)
        head.append(element("tr", *(element("th", label, scope="col", class_="number") for label in labels)))
    return element("thead", *head)


def _wait_row(row: WaitRow, scale: WaitScale, two: bool) -> Markup:
    group = row.group
    name, kind = (
        (group.priority_class, "class")
        if group.priority_class
        else (group.queue, "queue")
        if group.queue
        else ("All jobs", "all")
    )
    cells = [element("th", name, scope="row", class_="name")]
    cells.append(_counts([side.jobs if side else None for side in row.sides]))
    cells.append(_counts([side.never if side else None for side in row.sides]))
    for at in range(len(STATISTICS)):
        cells += [_wait_cell(side, at, with_range=not two) for side in row.sides]
        if two:
            change = _change(row.changes[at], "s") if row.changes else NONE
            cells.append(element("td", change, class_="number"))
    statistics = [side.statistics if side else None for side in row.sides]
    cells.append(element("td", wait_marks(statistics, scale), class_="marks"))
    return element("tr", *cells, class_=kind)


def _counts(counts: Sequence[int | None]) -> Markup:
    """Returns a cell with one number, or with both sides' numbers if they differ."""
    first, *different = dict.fromkeys(NONE if count is None else f"{count:,}" for count in counts)
    return element("td", first, *(part for text in different for part in (ARROW, text)), class_="number")


def _wait_cell(side: SideWaits | None, at: int, with_range: bool) -> Markup:
    if side is None or side.statistics is None:
        return element("td", NONE, class_="number")
    spread = side.statistics[at]
    return element(
        "td", duration(spread.mean), _range(spread, "s") if with_range else Markup(""), class_="number"
    )


def most_delayed_table(jobs: Sequence[Delayed], names: Sequence[str]) -> Markup:
    """Returns the most delayed jobs; the button of a job shows it in the timeline."""
    two = len(names) == 2
    if not jobs:
        return element("p", "No job waits longer." if two else "No job waits.", class_="empty")
    columns = ["Job", "ClusterQueue", "Priority class"]
    numbers = [
        "Pods",
        "Accelerators",
        *(["Wait, base", "Wait, changed", "PairedChange"] if two else ["Wait"]),
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


def _range(spread: Spread, unit: str) -> Markup:
    low, high = figure(spread.low, unit), figure(spread.high, unit)
    if low == high:
        return Markup("")
    return element("small", f"{low} \N{EN DASH} {high}", class_="range")


def _change(change: PairedChange, unit: str, less_is_better: bool | None = True) -> Markup:
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
