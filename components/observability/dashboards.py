"""The cluster's dashboard: queues, capacity, GPUs and controller."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_gcp import monitoring

from components.base import Component
from components.foundation.google_cloud import GoogleCloud
from components.observability.charts import XyChart, controller_charts, queue_charts
from components.observability.queries import Queries

COLUMNS = 48  # of a mosaic layout (Cloud Monitoring API, MosaicLayout)
WIDTH, HEIGHT = COLUMNS // 2, 16


def charts(queries: Queries) -> Iterator[XyChart]:
    """Yields the charts of the queues, of GPUs and of the controller."""
    yield from queue_charts(queries)
    yield XyChart("GPU use by container", queries.gpu_use(), "%")
    yield from controller_charts(queries)


def dashboard(queries: Queries) -> dict[str, Any]:
    """Returns the dashboard in Cloud Monitoring's JSON form, two charts a row."""
    tiles = [
        {
            "xPos": at % 2 * WIDTH,
            "yPos": at // 2 * HEIGHT,
            "width": WIDTH,
            "height": HEIGHT,
            "widget": {"title": chart.title, "xyChart": _lines(chart)},
        }
        for at, chart in enumerate(charts(queries))
    ]
    layout = {"columns": COLUMNS, "tiles": tiles}
    return {"displayName": f"Ray on {queries.cluster}", "mosaicLayout": layout}


def _lines(chart: XyChart) -> dict[str, Any]:
    query = {"prometheusQuery": chart.query, "unitOverride": chart.unit}
    return {"dataSets": [{"plotType": "LINE", "targetAxis": "Y1", "timeSeriesQuery": query}]}


@dataclass(frozen=True)
class DashboardsArgs:
    """`google`: the provider and the project of the dashboards."""

    queries: Queries
    google: GoogleCloud


class Dashboards(Component):
    """The dashboard as JSON with sorted keys, so that its order causes no diff."""

    def __init__(self, name: str, args: DashboardsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Dashboards", name, opts)
        monitoring.Dashboard(
            self.named("ray"),
            project=args.google.project,
            dashboard_json=json.dumps(dashboard(args.queries), sort_keys=True),
            opts=self.child(provider=args.google.provider),
        )
        self.register_outputs({})
