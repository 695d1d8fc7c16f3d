"""Tables on terminals."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from muster.cli.terminal import visible
from muster.forecast.report.tables import Table

WIDTH_WITHOUT_TERMINAL = 160
WIDTH_MAX = 1_000  # of tables that are never cut
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


def show(tables: Sequence[Table]) -> None:
    """Prints the tables, cut to the width of the terminal. On terminals increases are red and decreases
    green."""
    _show(tables, None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL)


def show_whole(tables: Sequence[Table]) -> None:
    """Prints the tables without cutting any name, as kubectl does; a narrow terminal wraps the lines."""
    _show(tables, WIDTH_MAX)


def _show(tables: Sequence[Table], width: int | None) -> None:
    console = Console(width=width)
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
        with console.capture() as printed:
            console.print(shown)
        # Cells are padded to the width of their column, the last ones too.
        print(*(line.rstrip() for line in printed.get().splitlines()), "", sep="\n")


def _colored(cell: str) -> Text:
    style = "red" if cell.endswith(" ▲") else "green" if cell.endswith(" ▼") else STYLES.get(cell, "")
    return Text(visible(cell), style)
