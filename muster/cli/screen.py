"""Tables on terminals."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from muster.forecast.report.tables import Table

WIDTH_WITHOUT_TERMINAL = 160
WIDTH_MAX = 1_000  # of views that programs read line by line
STYLES = {
    "Active": "green",
    "Admitted": "green",
    "BackOff": "yellow",
    "Evicted": "red",
    "Inactive": "red",
    "Pending": "yellow",
    "QuotaReserved": "cyan",
    "Stopped": "red",
}


def show(tables: Sequence[Table], width: int = WIDTH_WITHOUT_TERMINAL) -> None:
    """Prints the tables, with colors on terminals: increases are red and decreases green. `width` is that
    without a terminal."""
    console = Console() if sys.stdout.isatty() else Console(width=width)
    for table in tables:
        shown = RichTable(
            title=table.title or None, title_justify="left", box=None, padding=(0, 2, 0, 0), pad_edge=False
        )
        for number, column in enumerate(table.columns):
            is_number = number >= table.numbers
            wraps = table.wraps and number > 0
            shown.add_column(column, justify="right" if is_number else "left", no_wrap=not wraps)
        for row in table.rows or [("(none)", *[""] * (len(table.columns) - 1))]:
            shown.add_row(*(_colored(cell) for cell in row))
        console.print(shown)
        console.print()


def show_wide(tables: Sequence[Table]) -> None:
    """Prints the tables; lines are cut only on terminals."""
    show(tables, WIDTH_MAX)


def _colored(cell: str) -> Text:
    style = "red" if cell.endswith(" ▲") else "green" if cell.endswith(" ▼") else STYLES.get(cell, "")
    return Text(cell, style)
