"""Forecasts: the trace that changes of the stack are tried on, and what a change may not make worse."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.model.base import DnsSubdomain, Model, refuse


class WaitLimit(Model):
    """A limit of waiting times that `muster plan` enforces with its exit code."""

    queue: DnsSubdomain
    """A cluster queue."""
    priority: DnsSubdomain | None = None
    """A priority class; all jobs of the queue if unset."""
    statistic: Literal["mean", "p50", "p90", "p95", "p99", "within"] = "p90"
    """The statistic of the waits that is limited. `within` is the share of jobs that wait at most
    `maxMinutes`."""
    max_minutes: Annotated[float, Field(ge=0)]
    """The most that it may be after the change."""
    min_percent: Annotated[float, Field(gt=0, le=100)] | None = None
    """Least share of jobs that start in time, for the statistic `within`."""

    @model_validator(mode="after")
    def _service_levels_have_a_share(self) -> Self:
        if (self.statistic == "within") != (self.min_percent is not None):
            refuse("minPercent with statistic within, and only with it", "set both, or neither")
        return self


class Forecast(Model):
    """Forecasts of waiting times: `muster forecast` and `muster plan`."""

    trace: str | None = None
    """Path of a trace of jobs, relative to the folder of `Pulumi.yaml`; `--trace` overrides it."""
    prices: dict[DnsSubdomain, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    """Price of an accelerator-hour by flavor, for the cost by team; in any currency."""
    assumptions: dict[str, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    """Assumptions that differ from the defaults, by name; `muster forecast --assumptions` lists them."""
    limits: tuple[WaitLimit, ...] = ()
    """Waits that a change may not exceed."""
