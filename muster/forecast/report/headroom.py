"""Headroom as a table and as data."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from muster.forecast.demand.headroom import STEPS, Headroom
from muster.forecast.limits import WaitLimit
from muster.forecast.report.tables import Table


@dataclass(frozen=True, slots=True)
class QueueHeadroom:
    """The headroom of a limit if the demand of one queue, or of all, grows."""

    queue: str
    limit: WaitLimit
    headroom: Headroom

    @property
    def growth(self) -> str:
        """The growth at which the limit is first exceeded, such as `+18%`."""
        factor = self.headroom.factor
        if factor == 1:
            return "exceeded now"
        return f"not up to {_growth(STEPS[-1])}" if factor is None else _growth(factor)


def headroom_tables(rows: Sequence[QueueHeadroom]) -> list[Table]:
    """Returns the demand at which each limit is first exceeded; no table without rows."""
    if not rows:
        return []
    cells = [
        (
            row.queue,
            f"{row.limit.named} {row.limit.bound_text}",
            row.limit.text(row.headroom.present),
            row.growth,
            row.limit.text(row.headroom.value),
        )
        for row in rows
    ]
    columns = ("DEMAND OF", "LIMIT", "NOW", "EXCEEDED AT", "VALUE THERE")
    return [Table("Demand at which limits are first exceeded", columns, cells, numbers=2)]


def headroom_document(rows: Sequence[QueueHeadroom]) -> list[dict[str, Any]]:
    """Returns the rows for programs. Values are waits in seconds, null for jobs that never start, or shares
    of late jobs; a factor of null: the limit is not exceeded up to the largest one."""
    return [
        {
            "demand_of": row.queue,
            "limit": f"{row.limit.named} {row.limit.bound_text}",
            "present": _finite(row.headroom.present),
            "factor": row.headroom.factor,
            "value": _finite(row.headroom.value),
        }
        for row in rows
    ]


def _growth(factor: float) -> str:
    return f"{100 * (factor - 1):+.0f}%"


def _finite(value: float) -> float | None:
    return None if value == inf else value
