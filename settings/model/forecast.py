"""Forecasts: the trace that changes of the stack are tried on, and what a change may not make worse."""

from datetime import date
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from typing_extensions import Doc

from muster.admission import TopologyRequest
from muster.forecast.costs.prices import CURRENCY, is_day
from settings.model.base import DnsSubdomain, Model, matching, refuse
from settings.model.pools.values import LabelKey, Provisioning


def _day_as_text(value: object) -> object:
    """Returns the text of a day: YAML reads `2026-11-26` as a date, and Pulumi's engine as a time in UTC."""
    if isinstance(value, date):
        return value.isoformat()[:10]
    return value.removesuffix(MIDNIGHT) if isinstance(value, str) else value


def _day(text: str) -> str:
    if not is_day(text):
        refuse("a day, such as 2026-11-26", "write year, month and day")
    return text


MIDNIGHT = " 00:00:00 +0000 UTC"
Day = Annotated[str, BeforeValidator(_day_as_text), AfterValidator(_day), Doc("day")]
Currency = Annotated[
    str,
    matching(CURRENCY, "a currency: three letters (ISO 4217)", "write its code, such as USD"),
    Doc("currency"),
]
Price = Annotated[float, Field(ge=0)]


class Prices(Model):
    """Prices of accelerators. A flavor of `provisioning: reserved` pools costs its price at all times, others
    while gangs hold them."""

    currency: Currency
    """Code of the currency."""
    date: Day
    """Day of the prices."""
    source: Annotated[str, Field(min_length=1)]
    """Origin of the prices, such as a price list or a contract."""
    accelerator_hour: Annotated[dict[DnsSubdomain, Price | dict[Provisioning, Price]], Field(min_length=1)]
    """Price of an accelerator-hour by flavor, or by flavor and `provisioning` of its pool."""


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


class Topology(Model):
    """Assumptions about the nodes of a flavor with a topology, on which forecasts place gangs."""

    nodes_per_domain: dict[LabelKey, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    """Nodes in a domain of each level, such as 16 per block; all of the flavor's nodes if unset."""
    required: LabelKey | None = None
    """The level that gangs require, if the trace records no request."""
    preferred: LabelKey | None = None
    """The level that gangs prefer, if the trace records no request."""

    @model_validator(mode="after")
    def _requests_a_single_level(self) -> Self:
        if self.required is not None and self.preferred is not None:
            refuse("required or preferred", "remove one of them")
        return self

    @property
    def request(self) -> TopologyRequest | None:
        """The topology request of gangs; None without a level."""
        if self.required is None and self.preferred is None:
            return None
        return TopologyRequest(required=self.required, preferred=self.preferred)


class Forecast(Model):
    """Forecasts of waiting times: `muster forecast` and `muster plan`."""

    trace: str | None = None
    """Path of a trace of jobs, relative to the folder of `Pulumi.yaml`; `--trace` overrides it."""
    prices: Prices | None = None
    """Prices of accelerators, for the costs of a month by queue."""
    assumptions: dict[str, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    """Assumptions that differ from the defaults, by name; `muster forecast --assumptions` lists them."""
    topologies: dict[DnsSubdomain, Topology] = Field(default_factory=dict)
    """Assumptions about the nodes of flavors with a topology, by flavor."""
    limits: tuple[WaitLimit, ...] = ()
    """Waits that a change may not exceed."""
