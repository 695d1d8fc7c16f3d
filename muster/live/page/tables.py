"""The page's tables: rows by id. A browser receives all rows once, and then the changes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]
Tables = Mapping[str, Mapping[str, Row]]
"""Rows by table and id. Rows are immutable and can be encoded as JSON."""


@dataclass(frozen=True, slots=True)
class Patch:
    """Rows to set and ids to remove, by table."""

    rows: Tables = field(default_factory=dict)
    removed: Mapping[str, list[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.rows or self.removed)

    def document(self) -> dict[str, Any]:
        """Returns the patch as JSON."""
        return {"rows": self.rows, "removed": self.removed}


def difference(before: Tables, after: Tables) -> Patch:
    """Returns the patch from `before` to `after`."""
    rows: dict[str, Mapping[str, Row]] = {}
    removed: dict[str, list[str]] = {}
    for name, table in after.items():
        old = before.get(name, {})
        changed = {key: row for key, row in table.items() if old.get(key) != row}
        gone = [key for key in old if key not in table]
        if changed:
            rows[name] = changed
        if gone:
            removed[name] = gone
    return Patch(rows, removed)
