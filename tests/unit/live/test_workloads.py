"""Workloads of a running cluster, as estimates of starts read them."""

import pytest

from muster.configuration.configuration import DEFAULT
from muster.live.workloads import live_workloads
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import NOW_MS
from tests.unit.live.builders import cluster, running, since

STARTED: dict[str, tuple[str, bool, int | None]] = {
    "all pods started": ("Started", True, 500),
    "a lost pod was replaced": ("Recovered", True, 600),
    "a pod is lost": ("WaitForRecovery", False, None),
}


@pytest.mark.parametrize("name", STARTED)
def test_a_gang_runs_since_its_start_and_not_since_its_recovery(name: str) -> None:
    reason, ready, ago_s = STARTED[name]
    body = running(ray_job("dev"), ran_s=600)
    body["status"]["conditions"] = [
        since("QuotaReserved", 600),
        since("Admitted", 600),
        since("PodsReady", 500, ready, reason),
    ]
    (workload,) = live_workloads(cluster(body), DEFAULT.rules, NOW_MS).current.values()
    assert workload.ready_ms == (None if ago_s is None else NOW_MS - 1000 * ago_s)
