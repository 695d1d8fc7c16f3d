"""Dashboards for Grafana, for users that run Prometheus themselves.

Format: Grafana's dashboard JSON model, with a classic `schemaVersion` that every release since Grafana 9
migrates on import. No identifier of a data source is written: the dashboard asks for it.
"""

import json
from collections.abc import Iterable
from typing import Any

from components.observability.charts import XyChart, controller_charts, queue_charts
from components.observability.queries import Queries

SCHEMA_VERSION = 37
COLUMNS = 24
WIDTH, HEIGHT = COLUMNS // 2, 8
SOURCE = {"type": "prometheus", "uid": "${source}"}
UNITS = {"1": "short", "s": "s", "1/s": "ops"}


def grafana_files() -> dict[str, str]:
    """Returns the text of each dashboard by file name."""
    muster, kueue = Queries("muster"), Queries("kueue")
    dashboards = {
        "muster-queues": _dashboard("muster-queues", "Muster: queues", queue_charts(muster)),
        "muster-controller": _dashboard("muster-controller", "Muster: controller", controller_charts(muster)),
        "kueue-queues": _dashboard("kueue-queues", "Kueue: queues", queue_charts(kueue)),
    }
    return {f"{name}.json": json.dumps(dashboard, indent=1) + "\n" for name, dashboard in dashboards.items()}


def _dashboard(uid: str, title: str, charts: Iterable[XyChart]) -> dict[str, Any]:
    return {
        "uid": uid,
        "title": title,
        "tags": ["muster"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": _variables()},
        "panels": [_panel(at, chart) for at, chart in enumerate(charts)],
    }


def _variables() -> list[dict[str, Any]]:
    """Returns the data source, and filters that Grafana adds to every query, such as cluster_queue=team-a."""
    return [
        {"name": "source", "label": "Data source", "type": "datasource", "query": "prometheus"},
        {"name": "filters", "label": "Filters", "type": "adhoc", "datasource": SOURCE},
    ]


def _panel(at: int, chart: XyChart) -> dict[str, Any]:
    return {
        "id": at + 1,
        "type": "timeseries",
        "title": chart.title,
        "datasource": SOURCE,
        "gridPos": {"x": at % 2 * WIDTH, "y": at // 2 * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": UNITS[chart.unit], "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "table", "placement": "right", "calcs": ["lastNotNull"]}},
        "targets": [{"refId": "A", "datasource": SOURCE, "expr": chart.query}],
    }
