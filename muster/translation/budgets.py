"""Reads budgets of ClusterQueues and Cohorts from their annotation."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from muster import admission as core
from muster.admission.quantities import parse
from muster.objects.meta import View
from muster.objects.names import BUDGETS
from muster.translation.recorded_usage import DAYS_MAX

DAY_MS = 24 * core.HOUR_MS
MONDAY_MS = 4 * DAY_MS  # 1970 began on a Thursday
_PERIODS_MS = {"day": (DAY_MS, 0), "week": (7 * DAY_MS, MONDAY_MS), "month": (None, 0)}


class _Budget(View, forbid_unknown_fields=True):
    """A budget in the annotation."""

    resource: str
    hours: str | int
    period: Literal["day", "week", "month", "rolling"]
    days: int = 0  # of a rolling period
    flavor: str = ""
    enforcement: core.Enforcement = core.Enforcement.HARD
    carry_over: bool = False


def budgets(annotations: Mapping[str, str]) -> tuple[core.Budget, ...]:
    """Returns the budgets that an object's annotations declare. Raises: ValueError (including msgspec's
    errors and QuantityError) that names the annotation."""
    text = annotations.get(BUDGETS, "")
    try:
        declared = msgspec.json.decode(text, type=tuple[_Budget, ...]) if text else ()
        return tuple(map(_budget, declared))
    except ValueError as error:
        raise ValueError(f"annotation {BUDGETS}: {error}") from error


def _budget(declared: _Budget) -> core.Budget:
    rolling = declared.period == "rolling"
    if declared.days not in (range(1, DAYS_MAX + 1) if rolling else (0,)):
        raise ValueError(
            f"days is {declared.days}; expected 1 to {DAYS_MAX} if, and only if, period is rolling"
        )
    if rolling and declared.carry_over:
        raise ValueError("a rolling period carries nothing over")
    period_ms, anchor_ms = (declared.days * DAY_MS, 0) if rolling else _PERIODS_MS[declared.period]
    return core.Budget(
        resource=declared.resource,
        unit_ms=parse(declared.resource, declared.hours) * core.HOUR_MS,
        period_ms=period_ms,
        anchor_ms=anchor_ms,
        flavor=declared.flavor,
        rolling=rolling,
        carries_over=declared.carry_over,
        enforcement=declared.enforcement,
    )
