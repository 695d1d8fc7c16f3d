"""Charts of the queues and of the controller, which Cloud Monitoring and Grafana draw alike."""

from collections.abc import Iterator
from dataclasses import dataclass

from components.observability.queries import Queries
from muster.controller.metrics.table import METRICS


@dataclass(frozen=True)
class XyChart:
    """Draws `query` over time; `unit` is one of UCUM, as Cloud Monitoring expects it."""

    title: str
    query: str
    unit: str = "1"


def queue_charts(queries: Queries) -> Iterator[XyChart]:
    """Yields the charts of the engine's queues; KAI exports no queue metrics."""
    yield from _charts(queries, controller=False)


def controller_charts(queries: Queries) -> Iterator[XyChart]:
    """Yields the charts of Muster's controller itself."""
    yield from _charts(queries, controller=True)


def _charts(queries: Queries, *, controller: bool) -> Iterator[XyChart]:
    for metric in METRICS:
        for chart in metric.charts:
            is_exported = queries.engine == "muster" or (queries.engine == "kueue" and chart.kueue)
            if is_exported and chart.controller is controller:
                yield XyChart(chart.title, queries.expand(chart.query or metric.query), chart.unit)
