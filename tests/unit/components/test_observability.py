"""Logs, scraping, and that alerts and dashboards query existing metrics."""

import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest

from components.observability.alerts import alerts
from components.observability.dashboards import charts
from components.observability.grafana import COLUMNS, grafana_files
from components.observability.queries import Queries
from muster.controller.metrics.table import METRICS
from settings.model.observability import Observability
from tests.unit.components.harness import Declarations, declare_platform
from tests.unit.settings.builders import GOOD, with_engine
from tools.toolchain.paths import CHECKOUT

NOTIFY = {"emails": ["ml@example.com"], "channels": ["projects/acme-ml/notificationChannels/7"]}
ENGINES = ("muster", "kueue", "kai")


def declare_with(
    engine: str = "muster", protected: bool = False, more: dict[str, Any] | None = None
) -> Declarations:
    config = {
        "muster:observability": {"notify": NOTIFY},
        "muster:cluster": {**GOOD["muster:cluster"], "deletionProtection": protected},
    }
    return declare_platform({**with_engine(engine), **config, **(more or {})})


@pytest.fixture(scope="module")
def declared() -> Declarations:
    return declare_with()


FILTER = (
    'resource.labels.cluster_name="ray" AND resource.labels.location="us-west1-b" AND '
    '((resource.type="k8s_container" AND resource.labels.namespace_name='
    '("team-a" OR "kuberay-system" OR "muster-system")) OR '
    '(log_id("events") AND jsonPayload.involvedObject.kind=("Job" OR "JobSet" OR "LeaderWorkerSet" OR '
    '"RayCluster" OR "RayJob" OR "RayService" OR "Workload" OR '
    '"ClusterQueue" OR "LocalQueue" OR "ProvisioningRequest")))'
)


def test_logs_stay_searchable(declared: Declarations) -> None:
    bucket, sink = (
        declared.inputs("ProjectBucketConfig/ray-logs"),
        declared.inputs("ProjectSink/ray-searchable"),
    )

    assert (bucket["bucketId"], bucket["location"], bucket["retentionDays"]) == (
        "ray-ray-e36f62",
        "us-west1",
        90,
    )
    assert sink["destination"] == "logging.googleapis.com/ray-logs-id"
    assert sink["filter"] == FILTER


def test_archived_logs_cannot_be_deleted_too_soon(declared: Declarations) -> None:
    bucket, sink = declared.inputs("Bucket/ray-logs"), declared.inputs("ProjectSink/ray-archive")

    assert bucket["name"] == "ray-acme-ml-logs-ac0285"
    assert bucket["retentionPolicy"] == {"retentionPeriod": str(400 * 24 * 3600)}
    assert bucket["lifecycleRules"] == [{"action": {"type": "Delete"}, "condition": {"age": 400}}]
    assert (bucket["uniformBucketLevelAccess"], bucket["publicAccessPrevention"]) == (True, "enforced")
    assert bucket["forceDestroy"] is False
    assert sink["destination"] == "storage.googleapis.com/ray-acme-ml-logs-ac0285"
    assert sink["filter"] == FILTER


def test_the_sink_may_only_add_to_the_archive(declared: Declarations) -> None:
    member = declared["BucketIAMMember/log-archive"]

    assert member.inputs["role"] == "roles/storage.objectCreator"
    assert member.inputs["member"] == "serviceAccount:sink@gcp-sa-logging.iam.gserviceaccount.com"
    assert member.depends_on >= {"Bucket/ray-logs", "ProjectSink/ray-archive"}


@pytest.mark.parametrize("protected", [True, False])
@pytest.mark.parametrize("retention", ["ProjectBucketConfig/ray-logs", "Bucket/ray-logs"])
def test_log_buckets_are_protected_as_the_cluster_is(retention: str, protected: bool) -> None:
    assert declare_with(protected=protected)[retention].protect is protected


def test_no_archive_is_declared_by_default() -> None:
    none = declare_with(more={"muster:observability": {"logs": {"archiveDays": None}}})

    assert none.kinds("ProjectSink") == ["ProjectSink/ray-searchable"]
    assert "Bucket/ray-logs" not in none


SCRAPED = {
    "muster": [
        "ClusterPodMonitoring/ray",
        "PodMonitoring/kuberay-operator",
        "PodMonitoring/muster-controller",
    ],
    "kueue": ["ClusterPodMonitoring/ray", "PodMonitoring/kuberay-operator", "PodMonitoring/kueue"],
    "kai": ["ClusterPodMonitoring/ray", "PodMonitoring/kuberay-operator"],
}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_engines_pods_are_scraped(engine: str) -> None:
    declared = declare_with(engine)

    assert sorted(declared.kinds("ClusterPodMonitoring", "PodMonitoring")) == SCRAPED[engine]


def test_the_controllers_port_is_scraped(declared: Declarations) -> None:
    monitoring = declared["PodMonitoring/muster-controller"]

    assert monitoring.inputs["metadata"]["namespace"] == "muster-system"
    assert monitoring.inputs["spec"] == {
        "selector": {"matchLabels": {"app.kubernetes.io/name": "muster-controller"}},
        "endpoints": [{"port": "http", "interval": "30s"}],
    }
    assert "Namespace/muster-system" in monitoring.depends_on


def test_kueue_is_scraped_with_a_token_for_its_metrics_only() -> None:
    declared = declare_with("kueue")
    (endpoint,) = declared.spec("PodMonitoring/kueue")["endpoints"]

    assert endpoint["authorization"]["credentials"] == {"secret": {"name": "metrics-reader", "key": "token"}}
    assert declared["Secret/metrics-reader"].ignore_changes == ("data",)
    assert declared.inputs("ClusterRoleBinding/metrics-reader")["roleRef"]["name"] == "kueue-metrics-reader"
    assert declared.inputs("Role/metrics-reader")["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": ["metrics-reader"],
            "verbs": ["get", "list", "watch"],
        }
    ]
    assert declared.inputs("RoleBinding/metrics-reader")["subjects"] == [
        {"kind": "ServiceAccount", "name": "collector", "namespace": namespace}
        for namespace in ("gmp-system", "gke-gmp-system")
    ]
    assert declared["PodMonitoring/kueue"].depends_on >= {
        "Secret/metrics-reader",
        "RoleBinding/metrics-reader",
        "ClusterRoleBinding/metrics-reader",
    }


ADDON = {
    "addon": {"install": "addon"},
    "unwatched addon": {"install": "addon", "addon": {"monitoring": False}},
}


@pytest.mark.parametrize(
    ("name", "scraped"), [("addon", []), ("unwatched addon", ["ClusterPodMonitoring/ray"])]
)
def test_targets_of_gke_are_not_scraped_twice(name: str, scraped: list[str]) -> None:
    declared = declare_with(more={"muster:kuberay": ADDON[name]})

    assert declared.kinds("ClusterPodMonitoring") == scraped
    assert "PodMonitoring/kuberay-operator" not in declared


def test_alerts_notify_every_channel(declared: Declarations) -> None:
    policies = declared.kinds("AlertPolicy")

    assert len(policies) == 10
    for policy in policies:
        assert declared.inputs(policy)["notificationChannels"] == [
            "projects/acme-ml/notificationChannels/ml@example.com",
            "projects/acme-ml/notificationChannels/7",
        ]
    assert declared.inputs("NotificationChannel/ml@example.com")["labels"] == {
        "email_address": "ml@example.com"
    }


def test_an_alert_has_a_query_and_documentation(declared: Declarations) -> None:
    alert = declared.inputs("AlertPolicy/queue-wait")

    assert (alert["displayName"], alert["severity"]) == (
        "ray: a workload waits for more than 60 min",
        "WARNING",
    )
    (condition,) = alert["conditions"]
    assert condition["conditionPrometheusQueryLanguage"] == {
        "query": "time() - min by (cluster_queue) "
        '(muster_oldest_pending_workload_timestamp_seconds{cluster="ray"}) > 3600',
        "duration": "300s",
        "evaluationInterval": "60s",
        "disableMetricValidation": True,
    }


def test_the_dashboard_has_room_for_every_chart(declared: Declarations) -> None:
    layout = json.loads(declared.inputs("Dashboard/ray")["dashboardJson"])["mosaicLayout"]
    places = [(tile["xPos"], tile["yPos"]) for tile in layout["tiles"]]

    assert len(places) == len(set(places)) == len(list(charts(Queries("muster", "ray"))))
    assert all(tile["xPos"] + tile["width"] <= layout["columns"] for tile in layout["tiles"])


def promql(engine: str) -> Iterator[str]:
    queries = Queries(engine, "ray")
    yield from (alert.query for alert in alerts(Observability(), queries))
    yield from (chart.query for chart in charts(queries))


def grafana() -> dict[str, dict[str, Any]]:
    return {name: json.loads(text) for name, text in grafana_files().items()}


def grafana_queries(engine: str) -> list[str]:
    panels = (
        panel
        for name, dashboard in grafana().items()
        if name.startswith(engine)
        for panel in dashboard["panels"]
    )
    return [target["expr"] for panel in panels for target in panel["targets"]]


SERIES = re.compile(r"\b(muster_\w+)\{([^}]*)\}")
GROUPED = re.compile(r"by \(([^)]*)\)")
# Labels of GKE and PromQL, on any series.
EVERYWHERE = {"cluster", "le", "namespace_name", "pod_name", "container_name"}


def exported() -> dict[str, set[str]]:
    """Returns labels by series, including a histogram's `_bucket`, `_sum` and `_count`."""
    series: dict[str, set[str]] = {}
    for spec in METRICS:
        suffixes = ("_bucket", "_sum", "_count") if spec.buckets else ("",)
        series |= {f"{spec.full_name}{suffix}": set(spec.labels) for suffix in suffixes}
    return series


def test_every_query_names_metrics_that_muster_exports(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    metrics = exported()
    named: set[str] = set()
    for query in (*promql("muster"), *grafana_queries("muster")):
        used = {name: set(re.findall(r"(\w+)=", matchers)) for name, matchers in SERIES.findall(query)}
        named |= set(used)
        assert set(used) <= set(metrics), query
        grouped = {label.strip() for group in GROUPED.findall(query) for label in group.split(",")}
        for name, matched in used.items():
            assert (matched | grouped) - EVERYWHERE <= metrics[name], query
    assert len(named) > 10


# Source: Kueue, pkg/metrics/metrics.go of the version that the stacks install.
KUEUES = {
    "admission_checks_wait_time_seconds_bucket",
    "admitted_active_workloads",
    "cluster_queue_nominal_quota",
    "cluster_queue_resource_reservation",
    "evicted_workloads_total",
    "pending_workloads",
    "preempted_workloads_total",
    "quota_reserved_wait_time_seconds_bucket",
}


def test_with_kueue_every_query_names_metrics_that_kueue_exports() -> None:
    queries = [*promql("kueue"), *grafana_queries("kueue")]
    named = {name for query in queries for name in re.findall(r"\bkueue_(\w+)\{", query)}

    assert named == KUEUES
    assert not any("muster_" in query for query in queries)


def test_with_kai_only_gpus_are_queried() -> None:
    assert list(promql("kai")) == [
        "avg by (namespace_name, pod_name, container_name) (kubernetes_io:container_accelerator_duty_cycle"
        '{monitored_resource="k8s_container",cluster_name="ray"}) < 5',
        "avg by (namespace_name, pod_name, container_name) (kubernetes_io:container_accelerator_duty_cycle"
        '{monitored_resource="k8s_container",cluster_name="ray"})',
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_queries_are_balanced(engine: str) -> None:
    for query in (*promql(engine), *grafana_queries(engine)):
        assert all(query.count(a) == query.count(b) for a, b in ("()", "{}", "[]")), query


@pytest.mark.parametrize("engine", ENGINES)
def test_each_series_has_a_single_list_of_matchers(engine: str) -> None:
    """Prometheus rejects `series{a="b"}{c="d"}`."""
    for query in (*promql(engine), *grafana_queries(engine)):
        assert not re.search(r"\}\s*\{", query), query


def test_grafanas_panels_do_not_overlap() -> None:
    for dashboard in grafana().values():
        places = [tuple(panel["gridPos"].values()) for panel in dashboard["panels"]]
        assert len(set(places)) == len(places)
        assert all(x + width <= COLUMNS for x, _y, width, _height in places)
        assert len({panel["id"] for panel in dashboard["panels"]}) == len(places)


def test_grafana_asks_for_its_data_source_and_names_no_cluster() -> None:
    for dashboard in grafana().values():
        (source, filters) = dashboard["templating"]["list"]
        assert (source["name"], source["type"], filters["type"]) == ("source", "datasource", "adhoc")
        assert {panel["datasource"]["uid"] for panel in dashboard["panels"]} == {"${source}"}
    assert not any("cluster=" in query for query in (*grafana_queries("muster"), *grafana_queries("kueue")))


def test_grafanas_dashboards_are_up_to_date() -> None:
    folder = CHECKOUT / "examples" / "grafana"
    assert {file.name: file.read_text() for file in folder.iterdir()} == grafana_files(), (
        "write them with: make docs"
    )
