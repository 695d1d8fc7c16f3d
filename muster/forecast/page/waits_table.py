"""The page's table of waits as HTML."""

from collections.abc import Sequence

from muster.forecast.page.cells import NONE, change_cell, range_of
from muster.forecast.page.markup import ARROW, Markup, element, joined
from muster.forecast.page.wait_marks import WaitScale, scale_marks, wait_marks
from muster.forecast.page.wait_rows import STATISTICS, SideWaits, WaitRow
from muster.forecast.page.wording import duration


def waits_tables(rows: Sequence[WaitRow], names: Sequence[str]) -> Markup:
    """Returns the waits by ClusterQueue and priority class, with the changes between two sides. Rows without
    a change are folded."""
    spreads = [spread for row in rows for side in row.sides if side for spread in side.statistics or ()]
    scale = WaitScale.up_to(max((spread.high for spread in spreads), default=0.0))
    folded = [row for row in rows if row.is_folded]
    shown = _table([row for row in rows if not row.is_folded], names, scale)
    if not folded:
        return shown
    text = f"{len(folded)} {'row' if len(folded) == 1 else 'rows'} without a change"
    return joined((shown, element("details", element("summary", text), _table(folded, names, scale))))


def _table(rows: Sequence[WaitRow], names: Sequence[str], scale: WaitScale) -> Markup:
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
        labels = ["Base", "Changed", "Change"] * len(STATISTICS)
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
            change = change_cell(row.changes[at], "s") if row.changes else NONE
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
        "td", duration(spread.mean), range_of(spread, "s") if with_range else Markup(""), class_="number"
    )
