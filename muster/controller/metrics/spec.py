"""The description of a metric: where its values come from, and how dashboards show it.

This module imports nothing at run time, as the program that deploys the dashboards reads it too.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from muster.controller.metrics.observer import CompletedPass
    from muster.controller.metrics.sources import QueueFigures, Sample, StatusChange

PREFIX = "muster_"
COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"


class OfQueue(NamedTuple):
    """A gauge that is computed for each ClusterQueue whose Workloads have changed."""

    samples: "Callable[[QueueFigures], Iterable[Sample]]"


class OfRequests(NamedTuple):
    """A gauge of the ProvisioningRequests in one state, by their times of creation."""

    value: Callable[[Collection[int]], float]


class OfChange(NamedTuple):
    """A counter or histogram of a status change, by the reason of its event; None matches all."""

    reason: str | None
    samples: "Callable[[StatusChange], Iterable[Sample]]"


class OfPass(NamedTuple):
    """A counter or histogram that each pass updates."""

    samples: "Callable[[CompletedPass], Iterable[Sample]]"


class Direct(NamedTuple):
    """A metric that other code updates."""

    updated_by: str


Source = OfQueue | OfRequests | OfChange | OfPass | Direct


class Chart(NamedTuple):
    """A chart of the dashboards."""

    title: str
    # A UCUM unit, as Cloud Monitoring expects it.
    unit: str = "1"
    # PromQL; empty: the metric's own query.
    query: str = ""
    # Kueue has the metric too, so its dashboard gets the chart.
    kueue: bool = False
    # The chart is about the controller instead of the queues.
    controller: bool = False


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """A metric; dashboards show the charts in the order of the table."""

    # Without PREFIX. The name of a counter ends in `_total`.
    name: str
    kind: str
    labels: tuple[str, ...]
    help: str
    source: Source
    # PromQL for alerts and charts; `$name` or `$name{MATCHERS}` is the selector of a metric.
    query: str = ""
    charts: tuple[Chart, ...] = ()
    # Upper bounds of a histogram's buckets.
    buckets: tuple[float, ...] = ()

    @property
    def full_name(self) -> str:
        """The name with its prefix, as Prometheus scrapes it."""
        return PREFIX + self.name
