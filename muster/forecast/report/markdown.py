"""Tables as Markdown for comments on pull requests."""

from collections.abc import Sequence

from muster.forecast.report.tables import Table


def markdown(title: str, summary: Sequence[str], tables: Sequence[Table], rows_max: int = 40) -> str:
    """Returns a comment: the lines of the summary, and the tables, of which only the first is unfolded."""
    parts = [f"### {title}", "", *summary, ""]
    for number, table in enumerate(tables):
        text = _table(table, rows_max)
        if number:
            text = [f"<details><summary>{table.title}</summary>", "", *text, "", "</details>"]
        parts += [*text, ""]
    return "\n".join(parts)


def _table(table: Table, rows_max: int) -> list[str]:
    if not table.rows:
        return [f"{table.title}: none."]
    rule = ["---" if n < table.numbers else "---:" for n in range(len(table.columns))]
    lines = [_line(table.columns), _line(rule), *(_line(row) for row in table.rows[:rows_max])]
    remaining = len(table.rows) - rows_max
    return lines + ([f"\n… and {remaining} more rows"] if remaining > 0 else [])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_escaped(cell) for cell in cells)} |"


def _escaped(text: str) -> str:
    """Escapes characters in job names that could end their cell or mention a user."""
    for char in "\\`|[]*_":
        text = text.replace(char, f"\\{char}")
    text = text.replace("<", "&lt;").replace(">", "&gt;").replace("@", "@\u200b")
    return " ".join(text.split())
