"""One dashboard a cluster: its queues, its capacity, its GPUs and its controller."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_gcp import monitoring

from components.base import Component
from components.foundation.google_cloud import GoogleCloud
from components.observability.queries import Queries

COLUMNS = 48  # of a mosaic layout (Cloud Monitoring API, MosaicLayout)
WIDTH, HEIGHT = COLUMNS // 2, 16


@dataclass(frozen=True)
class Chart:
    title: str
    query: str
    unit: str = "1"


def charts(queries: Queries) -> Iterator[Chart]:
    if queries.engine in ("muster", "kueue"):
        yield Chart("Workloads that wait", queries.pending())
        yield Chart("Workloads that run", queries.admitted())
        yield Chart("Time in the queue, 9 of 10 are faster", queries.wait_quantile(0.9), "s")
        yield Chart("Evictions an hour", queries.evictions())
        yield Chart("Quota in use", queries.reserved())
        yield Chart("Quota borrowed", f"{queries.reserved()} - {queries.quota()} > 0")
        waits = queries.wait_quantile(0.9, "admission_checks_wait_time_seconds")
        yield Chart("Time until capacity comes, 9 of 10 are faster", waits, "s")
    yield Chart("GPU use by container", queries.gpu_use(), "%")
    if queries.engine == "muster":
        requests = queries.series("provisioning_requests")
        yield Chart("Provisioning requests", f"sum by (cluster_queue, state) ({requests})")
        yield Chart("A pass, 99 of 100 are faster", queries.pass_seconds(), "s")
        writes = queries.series("writes_total")
        yield Chart("Writes a second", f"sum by (kind, result) (rate({writes}[5m]))", "1/s")


def dashboard(queries: Queries) -> dict[str, Any]:
    """Two charts a row."""
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


def _lines(chart: Chart) -> dict[str, Any]:
    query = {"prometheusQuery": chart.query, "unitOverride": chart.unit}
    return {"dataSets": [{"plotType": "LINE", "targetAxis": "Y1", "timeSeriesQuery": query}]}


@dataclass(frozen=True)
class DashboardsArgs:
    queries: Queries
    google: GoogleCloud


class Dashboards(Component):
    """The dashboard as JSON, in an order that does not change by itself."""

    def __init__(self, name: str, args: DashboardsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Dashboards", name, opts)
        monitoring.Dashboard(
            "ray",
            project=args.google.project,
            dashboard_json=json.dumps(dashboard(args.queries), sort_keys=True),
            opts=self.child(provider=args.google.provider),
        )
        self.register_outputs({})
