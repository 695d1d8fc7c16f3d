"""Tables on terminals."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from muster.forecast.report.tables import Table

WIDTH_WITHOUT_TERMINAL = 160


def show(tables: Sequence[Table]) -> None:
    """Prints the tables; increases are red and decreases green on terminals with colors."""
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH_WITHOUT_TERMINAL)
    for table in tables:
        shown = RichTable(title=table.title, title_justify="left", box=None, padding=(0, 2, 0, 0))
        for number, column in enumerate(table.columns):
            is_number = number >= table.numbers
            wraps = table.wraps and number > 0
            shown.add_column(column, justify="right" if is_number else "left", no_wrap=not wraps)
        for row in table.rows or [("(none)", *[""] * (len(table.columns) - 1))]:
            shown.add_row(*(_colored(cell) for cell in row))
        console.print(shown)
        console.print()


def _colored(cell: str) -> Text:
    style = "red" if cell.endswith(" ▲") else "green" if cell.endswith(" ▼") else ""
    return Text(cell, style)
