"""Names and labels of all metrics: dashboards and alerts depend on them."""

import pytest
from prometheus_client.metrics import MetricWrapperBase

from muster.controller.metrics.metrics import WAIT_BUCKETS_S, Metrics

QUEUE_AND_PRIORITY = ("cluster_queue", "priority_class")
LABELS: dict[str, tuple[str, ...]] = {
    "muster_leader": (),
    "muster_quota_reserved_workloads": QUEUE_AND_PRIORITY,
    "muster_admitted_workloads": QUEUE_AND_PRIORITY,
    "muster_finished_workloads": QUEUE_AND_PRIORITY,
    "muster_evicted_workloads": ("cluster_queue", "reason", "priority_class"),
    "muster_preempted_workloads": ("preempting_cluster_queue", "reason"),
    "muster_provisioning_timeouts": ("cluster_queue",),
    "muster_writes": ("kind", "verb", "result"),
    "muster_metrics_errors": (),
    "muster_pass_differences": (),
    "muster_journal_failures": (),
    "muster_journal_lost_records": (),
    "muster_quota_reserved_wait_time_seconds": QUEUE_AND_PRIORITY,
    "muster_admission_wait_time_seconds": QUEUE_AND_PRIORITY,
    "muster_admission_checks_wait_time_seconds": QUEUE_AND_PRIORITY,
    "muster_pass_duration_seconds": (),
    "muster_eta_failures": (),
    "muster_eta_starts": ("band",),
    "muster_eta_error_seconds": QUEUE_AND_PRIORITY,
}


def labels() -> dict[str, tuple[str, ...]]:
    metrics = Metrics(lambda: True)
    sources = [*vars(metrics).values(), *metrics.registry._collector_to_names]
    metrics_used = {metric for metric in sources if isinstance(metric, MetricWrapperBase)}
    return {metric._name: metric._labelnames for metric in metrics_used}


def test_names_and_labels_of_all_metrics() -> None:
    assert labels() == LABELS


@pytest.mark.parametrize(("leads", "value"), [(True, 1.0), (False, 0.0)])
def test_the_leader_gauge(leads: bool, value: float) -> None:
    assert Metrics(lambda: leads).registry.get_sample_value("muster_leader") == value


def test_wait_buckets_reach_almost_a_day_as_in_kueue() -> None:
    assert WAIT_BUCKETS_S[:3] == (1, 2.5, 5)
    assert WAIT_BUCKETS_S[-1] == 2.5 * 2**15
    assert len(WAIT_BUCKETS_S) == 17
