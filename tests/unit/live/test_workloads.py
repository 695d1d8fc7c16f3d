"""Workloads of a running cluster, as estimates of starts read them."""

from collections.abc import Mapping

import pytest

from muster.configuration.configuration import DEFAULT
from muster.forecast.simulation.worker_group import WorkerGroup
from muster.forecast.start_estimates import observed_job
from muster.live.workloads import live_workloads
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import NOW_MS, Body
from tests.unit.live.builders import cluster, running, since
from tests.unit.live.elastic import objects, running_elastic, waiting_elastic

EVICTED, UNCHECKED, PLACED = running_elastic(), running_elastic(), running_elastic()
EVICTED["status"]["conditions"].append(since("Evicted", 1, reason="Preempted"))
UNCHECKED["status"]["conditions"] = [since("QuotaReserved", 60)]
PLACED["status"]["admission"]["podSetAssignments"][1]["topologyAssignment"] = {
    "levels": ["kubernetes.io/hostname"],
    "slices": [],
}
GROUPS: dict[str, tuple[Body, Mapping[str, WorkerGroup]]] = {
    "a fixed size": (running(ray_job("dev")), {}),
    "it asks for more": (running_elastic(), {"gpu": WorkerGroup(1, 1, 4, 4)}),
    "it waits, and its manifest asks": (waiting_elastic(replicas=3), {"gpu": WorkerGroup(1, 1, 3, 4)}),
    "its nodes are not provisioned": (UNCHECKED, {"gpu": WorkerGroup(1, 1, 3, 4)}),
    "it returns at its minimum": (EVICTED, {"gpu": WorkerGroup(1, 1, 3, 4)}),
    "it is in a topology": (PLACED, {"gpu": WorkerGroup(1, 1, 4, 4)}),
}


@pytest.mark.parametrize("name", GROUPS)
def test_groups_that_may_grow(name: str) -> None:
    body, groups = GROUPS[name]
    there = cluster(body, RAY_CLUSTERS=objects(asked=4)["RAY_CLUSTERS"], RAY_JOBS=objects()["RAY_JOBS"])
    (live,) = live_workloads(there, DEFAULT.rules, NOW_MS).current.values()
    assert live.groups == groups


@pytest.mark.parametrize("granted", [1, 4])
def test_an_autoscaled_job_counts_with_its_minimum(granted: int) -> None:
    """Run times are learned from jobs of the same size, and the past has the minimum."""
    there = cluster(running_elastic(granted=granted))
    (live,) = live_workloads(there, DEFAULT.rules, NOW_MS).current.values()
    assert observed_job(0, live, None).accelerators == 1


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
