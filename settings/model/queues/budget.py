"""Budgets: limits on device hours per period."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from settings.model.base import DnsSubdomain, Model, ResourceName, refuse

DAYS_MAX = 31


class Budget(Model):
    """The hours of a resource that gangs may use in a period, summed over the devices that they hold."""

    resource: ResourceName
    """Resource that is counted, such as nvidia.com/gpu."""
    hours: Annotated[int, Field(ge=0)]
    """Hours per period: a gang that holds 8 GPUs for 3 hours uses 24."""
    period: Literal["day", "week", "month", "rolling"]
    """`day`, `week` (from Monday) and `month` are calendar periods in UTC. `rolling`: the last `days`."""
    days: Annotated[int, Field(ge=1, le=DAYS_MAX)] | None = None
    """Length of a rolling period; its usage expires by the hour."""
    flavor: DnsSubdomain | None = None
    """Flavor that is counted; all flavors together if unset."""
    enforcement: Literal["hard", "soft", "warn"] = "hard"
    """`hard`: when the budget is used up, pending gangs wait for the next period; running gangs continue.
    `soft`: its gangs rank below all others of the cohort tree: they take only free quota, and may be
    preempted where they borrow. `warn`: it is only reported."""
    carry_over: bool = False
    """Adds hours that the previous period left unused, at most one period's."""

    @model_validator(mode="after")
    def _days_suit_the_period(self) -> Self:
        if self.period == "rolling" and self.days is None:
            refuse("`days`, the length of the rolling period", "add `days`, such as 30")
        if self.period != "rolling" and self.days is not None:
            refuse(
                f"no `days`: a {self.period} has a fixed length", "remove `days`, or write `period: rolling`"
            )
        if self.period == "rolling" and self.carry_over:
            refuse("no `carryOver`: a rolling period has no previous one", "remove `carryOver`")
        return self

    def declaration(self) -> dict[str, Any]:
        """Returns the budget as the controller reads it (muster/translation/budgets.py)."""
        return self.model_dump(by_alias=True, exclude_defaults=True)
