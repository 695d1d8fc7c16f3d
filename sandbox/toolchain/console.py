"""The console that commands print to, and their tables."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

WIDTH_WITHOUT_TERMINAL = 160


def console() -> Console:
    """As wide as the terminal; wide enough for whole lines where there is none."""
    return Console() if sys.stdout.isatty() else Console(width=WIDTH_WITHOUT_TERMINAL)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A plain table that lines up; one without rows says so."""
    made = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows or [("(none)", *[""] * (len(columns) - 1))]:
        made.add_row(*row)
    return made
