"""Forecasts: the trace that changes of the stack are tried on, and what a change may not make worse."""

from typing import Annotated, Literal

from pydantic import Field

from settings.model.base import DnsSubdomain, Model


class WaitLimit(Model):
    """A limit of waiting times that `muster plan` enforces with its exit code."""

    queue: DnsSubdomain
    """A cluster queue."""
    priority: DnsSubdomain | None = None
    """A priority class; all jobs of the queue if unset."""
    statistic: Literal["mean", "p50", "p90", "p99"] = "p90"
    """The statistic of the waits that is limited."""
    max_minutes: Annotated[float, Field(ge=0)]
    """The most that it may be after the change."""


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
