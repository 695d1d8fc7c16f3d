"""Budgets of ClusterQueues and Cohorts, and the usage that counts for them."""

from dataclasses import dataclass
from enum import StrEnum

HOUR_MS = 3_600_000
_DAY_MS = 24 * HOUR_MS
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAYS_IN_400_YEARS = 146_097
_DAYS_BEFORE_1970 = 719_162  # since 0001-01-01
_NAMES = {_DAY_MS: "day", 7 * _DAY_MS: "week"}


class Enforcement(StrEnum):
    """The effect of an exhausted budget."""

    HARD = "hard"  # pending workloads wait
    SOFT = "soft"  # workloads of its queues rank below all others: rules/soft_budgets.py
    WARN = "warn"  # it is only reported


@dataclass(frozen=True, slots=True)
class Budget:
    """The maximum usage of a resource by all workloads of a queue or cohort in a period.

    `unit_ms` is in units times milliseconds (cpu: millicores times milliseconds). Periods are aligned to
    `anchor_ms`: as 1970 began on a Thursday, weeks from Monday have an anchor of 4 days. A `rolling` period
    ends with the current hour."""

    resource: str
    unit_ms: int
    period_ms: int | None  # None: calendar months in UTC
    anchor_ms: int = 0
    flavor: str = ""  # empty: all flavors together
    rolling: bool = False
    carries_over: bool = False  # unused amounts of the previous period are added to the next one
    enforcement: Enforcement = Enforcement.HARD

    @property
    def period_name(self) -> str:
        """The period in words, such as month or last 7 d."""
        if self.period_ms is None:
            return "month"
        return f"last {self.period_ms // _DAY_MS} d" if self.rolling else _NAMES.get(self.period_ms, "period")

    def period(self, now_ms: int) -> tuple[int, int]:
        """Returns the start and the end of the period at `now_ms`."""
        if self.period_ms is None:
            return _month(now_ms)
        if self.rolling:
            end_ms = now_ms - now_ms % HOUR_MS + HOUR_MS
            return end_ms - self.period_ms, end_ms
        start_ms = now_ms - (now_ms - self.anchor_ms) % self.period_ms
        return start_ms, start_ms + self.period_ms

    def horizon_ms(self, now_ms: int) -> int:
        """Returns the time until which the future usage of a workload counts."""
        return now_ms + (self.period_ms or 0) if self.rolling else self.period(now_ms)[1]

    def covers(self, flavor: str, resource: str) -> bool:
        """Returns whether usage of this resource of a flavor counts."""
        return self.resource == resource and self.flavor in ("", flavor)


@dataclass(frozen=True, slots=True)
class Spent:
    """Usage of a queue's workloads in an hour or day that starts at `since_ms`, except usage since the
    reservation of workloads that still hold quota."""

    resource: str
    since_ms: int
    unit_ms: int
    flavor: str = ""


def _month(now_ms: int) -> tuple[int, int]:
    """Returns the beginning and the end of the calendar month, as in the Gregorian calendar."""
    day = now_ms // _DAY_MS
    year = 1970 + day * 400 // _DAYS_IN_400_YEARS
    while _days_before(year + 1, 1) <= day:
        year += 1
    while _days_before(year, 1) > day:
        year -= 1
    month = max(month for month in range(1, 13) if _days_before(year, month) <= day)
    following = _days_before(year + month // 12, month % 12 + 1)
    return _days_before(year, month) * _DAY_MS, following * _DAY_MS


def _days_before(year: int, month: int) -> int:
    """Returns the days from 1970-01-01 to the first day of a month."""
    past = year - 1
    leap_days = past // 4 - past // 100 + past // 400
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    in_year = sum(_MONTH_DAYS[: month - 1]) + (1 if is_leap and month > 2 else 0)
    return past * 365 + leap_days + in_year - _DAYS_BEFORE_1970
