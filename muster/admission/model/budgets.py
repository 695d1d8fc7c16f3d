"""Budgets of ClusterQueues and Cohorts, and the usage that counts for them."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

HOUR_MS = 3_600_000
_DAY_MS = 24 * HOUR_MS
_NAMES = {_DAY_MS: "day", 7 * _DAY_MS: "week"}


class Enforcement(StrEnum):
    """The effect of an exhausted budget."""

    HARD = "hard"  # pending workloads wait
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
    first = datetime.fromtimestamp(now_ms // 1000, UTC).replace(day=1, hour=0, minute=0, second=0)
    following = (first + timedelta(days=31)).replace(day=1)
    return int(first.timestamp()) * 1000, int(following.timestamp()) * 1000
