"""Tests when a pending workload starts, in several futures."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from muster.cluster.cluster_state import ClusterState
from muster.configuration.configuration import Configuration
from muster.forecast.assumptions import Assumptions
from muster.forecast.learning.run_times import RunTimeSource
from muster.forecast.start_estimates import StartEstimate, drawn_jobs, estimated_start, estimated_starts
from muster.live.state import live_state
from muster.objects.meta import rfc3339
from tests.simulation.manifests import ray_cluster, ray_job
from tests.unit.controller.builders import NOW_MS, Body, workload_body
from tests.unit.live.builders import cluster, running, since, waiting

ASSUMED = Assumptions(
    start_up_s=30,
    termination_s=0,
    cleanup_s=0,
    provisioning_median_s=60,
    provisioning_spread=0,
    limit_share=1,
)
"""Deterministic delays, and jobs that run until their declared limit."""
SEEDS = range(20)
NEW = waiting(ray_job("new"))
KEY = f"team-a/{NEW['metadata']['name']}"


def estimate(of: ClusterState, seeds: Sequence[int] = SEEDS) -> StartEstimate:
    return estimated_start(live_state(of, Configuration(), NOW_MS), KEY, ASSUMED, seeds)


def waits_s(estimate: StartEstimate) -> set[float | None]:
    return {None if at_ms is None else (at_ms - NOW_MS) / 1000 for at_ms in estimate.starts_ms}


def admitted(of: Body, ago_s: float, *, reports: bool) -> Body:
    """The Workload of a job whose pods are not ready yet, or without that condition."""
    body = running(of, maximumExecutionTimeSeconds=300)
    conditions = [since(kind, ago_s) for kind in ("QuotaReserved", "Admitted")]
    conditions += [since("PodsReady", ago_s, False, "WaitForStart")] if reports else []
    return {**body, "status": {**body["status"], "conditions": conditions}}


def before(declared_s: int) -> Body:
    """A pending Workload that is older than NEW."""
    body = workload_body(ray_job("before"), creationTimestamp=rfc3339(NOW_MS - 600_000))
    body["spec"]["maximumExecutionTimeSeconds"] = declared_s
    return body


def deleted(body: Body) -> Body:
    return {**body, "metadata": {**body["metadata"], "deletionTimestamp": rfc3339(NOW_MS)}}


def preempted(of: Body, ran_s: float) -> Body:
    body = running(of, ran_s, maximumExecutionTimeSeconds=1_000)
    body["metadata"]["creationTimestamp"] = rfc3339(NOW_MS - 600_000)
    body["status"]["conditions"].append(since("Evicted", 1, reason="Preempted"))
    return body


@dataclass(frozen=True)
class Case:
    cluster: ClusterState
    waits_s: set[float | None]
    sources: dict[RunTimeSource, int]


DEV = ray_job("dev")
TOO_LARGE = waiting(ray_job("new", workers=5))

CASES: dict[str, Case] = {
    "quota is free": Case(cluster(NEW), {30}, {}),
    "nodes are provisioned first": Case(cluster(NEW, check=True), {90}, {}),
    "a declared run time": Case(
        cluster(NEW, running(DEV, 60, maximumExecutionTimeSeconds=300)), {270}, {RunTimeSource.FIXED: 1}
    ),
    "an exceeded run time": Case(
        cluster(NEW, running(DEV, 400, maximumExecutionTimeSeconds=300)), {30}, {RunTimeSource.FIXED: 1}
    ),
    "a RayCluster keeps its quota": Case(
        cluster(NEW, running(ray_cluster("notebook", workers=4))), {None}, {RunTimeSource.ENDLESS: 1}
    ),
    "a gang whose pods start": Case(
        cluster(NEW, admitted(DEV, 10, reports=True)), {320}, {RunTimeSource.FIXED: 1}
    ),
    "a gang whose pods are late": Case(
        cluster(NEW, admitted(DEV, 100, reports=True)), {230}, {RunTimeSource.FIXED: 1}
    ),
    "a gang without the condition PodsReady": Case(
        cluster(NEW, admitted(DEV, 100, reports=False)), {230}, {RunTimeSource.FIXED: 1}
    ),
    "what was queued before": Case(
        cluster(NEW, running(DEV, 60, maximumExecutionTimeSeconds=100), before(200)),
        {40 + 30 + 200 + 30},
        {RunTimeSource.FIXED: 2},
    ),
    "a preempted gang that was queued before starts over": Case(
        cluster(NEW, preempted(DEV, 300)), {30 + 1_000 + 30}, {RunTimeSource.FIXED: 1}
    ),
    "a gang that is being deleted": Case(
        cluster(NEW, deleted(running(DEV, 300, maximumExecutionTimeSeconds=1_000))),
        {30},
        {RunTimeSource.FIXED: 1},
    ),
    "it is too large": Case(cluster(TOO_LARGE), {None}, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_start_of_a_pending_workload(name: str) -> None:
    case = CASES[name]
    estimated = estimate(case.cluster)
    assert waits_s(estimated) == case.waits_s
    assert dict(estimated.sources) == case.sources


def test_estimate_is_the_same_for_the_same_seeds_and_spreads_over_others() -> None:
    of = cluster(NEW, running(DEV, 200), check=True)
    assert estimate(of) == estimate(of)
    assert len(set(estimate(of).starts_ms)) == len(SEEDS)


def test_a_future_does_not_depend_on_the_number_of_futures() -> None:
    of = cluster(NEW, running(DEV, 200))
    assert estimate(of, range(3)).starts_ms == estimate(of).starts_ms[:3]


def test_a_workload_that_is_added_leaves_the_run_times_of_others_as_they_are() -> None:
    alone = drawn_jobs(live_state(cluster(running(DEV, 200)), Configuration(), NOW_MS), ASSUMED, 7)
    both = drawn_jobs(live_state(cluster(NEW, running(DEV, 200)), Configuration(), NOW_MS), ASSUMED, 7)
    assert {start.name: start.run_ms for start in alone}.items() <= {
        start.name: start.run_ms for start in both
    }.items()


def started(*waits_s: float | None) -> StartEstimate:
    return StartEstimate(NOW_MS, [None if s is None else NOW_MS + round(1000 * s) for s in waits_s], {})


QUANTILES: dict[str, tuple[StartEstimate, tuple[float | None, ...], int, int]] = {
    "all alike": (started(60, 60, 60), (60, 60, 60), 3, 3),
    "spread": (started(10, 49, 50, 100, 150, 200, 201, 300, 400), (10, 150, 400), 9, 5),
    "between two futures": (started(*range(20)), (1.1, 9.5, 17.9), 20, 15),
    "half of them never": (started(10, 20, None, None), (10, None, None), 2, 2),
    "none": (started(None, None), (None, None, None), 0, 2),
    "immediately": (started(0, 0), (0, 0, 0), 2, 2),
}


@pytest.mark.parametrize("name", QUANTILES)
def test_quantiles_and_agreement_of_futures(name: str) -> None:
    actual, quantiles_s, starting, agreeing = QUANTILES[name]
    at_ms = [actual.quantile_ms(quantile) for quantile in (0.1, 0.5, 0.9)]
    assert [None if ms is None else (ms - NOW_MS) / 1000 for ms in at_ms] == list(quantiles_s)
    assert (actual.started, actual.agreeing) == (starting, agreeing)


def test_starts_of_several_workloads_are_those_of_each_alone() -> None:
    state = live_state(cluster(NEW, before(200), running(DEV, 200), check=True), Configuration(), NOW_MS)
    keys = [key for key, workload in state.workloads.items() if workload.workload.admission is None]
    estimates = estimated_starts(state, keys, ASSUMED, SEEDS)
    assert len(estimates) == 2
    assert estimates == {key: estimated_start(state, key, ASSUMED, SEEDS) for key in keys}
