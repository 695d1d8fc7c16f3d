"""Creates the console for the output of commands, and tables."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDTH_WITHOUT_TERMINAL = 160


def console() -> Console:
    """Returns a console with the width of the terminal, or wide enough for most lines without a terminal."""
    return Console() if sys.stdout.isatty() else Console(width=WIDTH_WITHOUT_TERMINAL)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str | Text]]) -> Table:
    """Returns a plain table; without rows, it shows "(none)"."""
    result = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in columns:
        result.add_column(column, overflow="fold")
    for row in rows or [("(none)", *[""] * (len(columns) - 1))]:
        result.add_row(*row)
    return result


def duration(seconds: float) -> str:
    """Formats a duration like kubectl: 45s, 12m, 3h, 5d."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f}{unit}"
    return f"{max(seconds, 0):.0f}s"
