"""Metrics of a pass, and gauges of the queues."""

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from muster.admission import Admission, PodSetAssignment
from muster.cluster import provisioning_timeouts
from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.job import JobOutcome
from muster.cluster.queue_counts import QueueCounts
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.metrics.metrics import Metrics
from muster.controller.metrics.observer import CompletedPass
from muster.controller.passes.pass_plan import PassPlan, PassStatistics
from muster.controller.passes.status_writes import status_patch
from muster.controller.workload import transitions
from muster.controller.workload.events import status_events
from muster.kube import kinds
from muster.kube.client import WriteError
from muster.kube.kinds import Kind
from muster.kube.writes import Create, Delete, JsonPatch, MergePatch, Write
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import millis
from tests.simulation.manifests import GPU, cluster_queue, quotas, ray_job
from tests.unit.controller.builders import (
    CREATED,
    NOW_MS,
    Body,
    condition,
    make_cluster,
    queue_statuses,
    read,
    request,
    workload_body,
)

QUEUE_AND_PRIORITY = {"cluster_queue": "team-a", "priority_class": "dev-priority"}
WAITED_S = (NOW_MS - millis(CREATED)) / 1000


def cluster_of(*workloads: Body, requests: tuple[Body, ...] = ()) -> ClusterState:
    queue = cluster_queue(
        "team-a",
        quotas("cpu", cpu=8, memory="32Gi", gpu=0),
        quotas("l4", cpu=16, memory="64Gi", gpu=4),
        cohort="ml",
    )
    return make_cluster(
        {
            kinds.CLUSTER_QUEUES: [queue],
            kinds.WORKLOADS: list(workloads),
            kinds.PROVISIONING_REQUESTS: list(requests),
        }
    )


def observed(
    cluster: ClusterState, *done: PlannedWrite, result: PassPlan | None = None, took_ms: int = 20
) -> Metrics:
    metrics = Metrics(lambda: True)
    plan = result or PassPlan()
    plan.statistics.counts, plan.statistics.examined = QueueCounts.of(cluster), list(cluster.workloads)
    metrics.passed(CompletedPass(cluster, plan, done, NOW_MS, took_ms))
    return metrics


def moved(workload: Workload, status: WorkloadStatus) -> PlannedWrite:
    """Returns a status write with its events."""
    return PlannedWrite(
        workload.key, status_patch(workload, status), tuple(status_events(workload, status, NOW_MS))
    )


def counted(metrics: Metrics) -> dict[str, float]:
    """Returns counters other than 0 by name and label values; histograms by their sum."""
    return {
        f"{s.name}{''.join(f' {v}' for v in s.labels.values())}": s.value
        for family in metrics.registry.collect()
        for s in family.samples
        if s.name.startswith("muster_") and s.name.endswith(("_total", "_sum")) and s.value
    }


def gauge(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"muster_{name}", labels)


ADMISSION = Admission("team-a", (PodSetAssignment("head", 1, {"cpu": "cpu"}, {"cpu": 1000}),))
QUEUED = workload_body(ray_job("dev"))
RUNNING = workload_body(ray_job("dev"), "QuotaReserved", "Admitted")
RESERVED = workload_body(ray_job("dev"), "QuotaReserved")


def reserved(workload: Workload) -> WorkloadStatus:
    return transitions.reserve(workload.status, ADMISSION, ("check",), NOW_MS)


def admitted_at_once(workload: Workload) -> WorkloadStatus:
    return transitions.reserve(workload.status, ADMISSION, (), NOW_MS)


def preempted(workload: Workload) -> WorkloadStatus:
    return transitions.preempt(workload.status, "InClusterQueue", "for another", NOW_MS)


def evicted(workload: Workload) -> WorkloadStatus:
    return transitions.evict(workload.status, "Deactivated", "by its user", NOW_MS)


def unanswered(workload: Workload) -> WorkloadStatus:
    config = read(kinds.PROVISIONING_CONFIGS, {"metadata": {"name": "queued"}})
    why = provisioning_timeouts.reason(read(kinds.PROVISIONING_REQUESTS, request()), config)
    return transitions.evict(workload.status, "AdmissionCheck", f"Retrying after timeout: {why}", NOW_MS)


MOVES: dict[str, tuple[Body, Any, dict[str, float]]] = {
    "quota reserved": (
        QUEUED,
        reserved,
        {
            "muster_quota_reserved_workloads_total team-a dev-priority": 1,
            "muster_quota_reserved_wait_time_seconds_sum team-a dev-priority": WAITED_S,
        },
    ),
    "admitted immediately": (
        QUEUED,
        admitted_at_once,
        {
            "muster_quota_reserved_workloads_total team-a dev-priority": 1,
            "muster_quota_reserved_wait_time_seconds_sum team-a dev-priority": WAITED_S,
            "muster_admitted_workloads_total team-a dev-priority": 1,
            "muster_admission_wait_time_seconds_sum team-a dev-priority": WAITED_S,
        },
    ),
    "admitted once its checks are": (
        RESERVED,
        lambda w: transitions.sync_admitted(w.status, NOW_MS),
        {
            "muster_admitted_workloads_total team-a dev-priority": 1,
            "muster_admission_wait_time_seconds_sum team-a dev-priority": WAITED_S,
            "muster_admission_checks_wait_time_seconds_sum team-a dev-priority": WAITED_S,
        },
    ),
    "preempted": (
        RUNNING,
        preempted,
        {
            "muster_evicted_workloads_total team-a Preempted dev-priority": 1,
            "muster_preempted_workloads_total team-a InClusterQueue": 1,
        },
    ),
    "evicted": (RUNNING, evicted, {"muster_evicted_workloads_total team-a Deactivated dev-priority": 1}),
    "its request was not answered": (
        RESERVED,
        unanswered,
        {
            "muster_evicted_workloads_total team-a AdmissionCheck dev-priority": 1,
            "muster_provisioning_timeouts_total team-a": 1,
        },
    ),
    "its request failed": (
        RESERVED,
        lambda w: transitions.evict(w.status, "AdmissionCheck", "Retrying after failure: no L4", NOW_MS),
        {"muster_evicted_workloads_total team-a AdmissionCheck dev-priority": 1},
    ),
    "it ended": (
        RUNNING,
        lambda w: transitions.finish(w.status, JobOutcome(True, "done"), NOW_MS),
        {"muster_finished_workloads_total team-a dev-priority": 1},
    ),
    "no change": (RUNNING, lambda w: w.status, {}),
}


@pytest.mark.parametrize("name", MOVES)
def test_a_workload_that_moved_is_counted_once(name: str) -> None:
    body, move, expected = MOVES[name]
    cluster = cluster_of(body, workload_body(ray_job("prod", priority="prod-priority")))
    victim, preemptor = cluster.workloads.values()
    result = PassPlan(statistics=PassStatistics(preemptors={victim.key: preemptor.key}))
    metrics = observed(cluster, moved(victim, move(victim)), result=result, took_ms=250)
    assert counted(metrics) == {"muster_pass_duration_seconds_sum": 0.25, **expected}


def test_the_wait_time_of_a_requeued_workload_starts_again() -> None:
    back = workload_body(ray_job("dev"), "Requeued")
    back["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
    cluster = cluster_of(back)
    (workload,) = cluster.workloads.values()
    waits = counted(observed(cluster, moved(workload, reserved(workload))))
    assert waits["muster_quota_reserved_wait_time_seconds_sum team-a dev-priority"] == WAITED_S


def test_gauges_of_a_queue() -> None:
    metrics = observed(cluster_of(QUEUED, workload_body(ray_job("runs", workers=3), "QuotaReserved")))
    assert gauge(metrics, "reserving_active_workloads", cluster_queue="team-a") == 1
    assert gauge(metrics, "admitted_active_workloads", cluster_queue="team-a") == 0
    column = {"cohort": "ml", "cluster_queue": "team-a", "flavor": "l4"}
    assert gauge(metrics, "cluster_queue_nominal_quota", **column, resource="memory") == 64 * 2**30
    assert gauge(metrics, "cluster_queue_nominal_quota", **column, resource="cpu") == 16
    assert gauge(metrics, "cluster_queue_resource_reservation", **column, resource="cpu") == 3
    assert gauge(metrics, "cluster_queue_resource_reservation", **column, resource=GPU) == 3
    assert gauge(metrics, "cluster_queue_resource_usage", **column, resource=GPU) == 0


def inadmissible() -> Body:
    body = workload_body(ray_job("huge"))
    body["status"]["conditions"] = [condition("QuotaReserved", False, "ExceedsMaxQuota")]
    return body


def test_pending_workloads_and_the_oldest_of_them() -> None:
    first = workload_body(ray_job("first"), creationTimestamp="2026-01-01T00:00:00Z")
    metrics = observed(cluster_of(QUEUED, first, inadmissible()))
    assert gauge(metrics, "pending_workloads", cluster_queue="team-a", status="active") == 2
    assert gauge(metrics, "pending_workloads", cluster_queue="team-a", status="inadmissible") == 1
    since = gauge(metrics, "oldest_pending_workload_timestamp_seconds", cluster_queue="team-a")
    assert since == millis("2026-01-01T00:00:00Z") / 1000


def test_no_oldest_workload_without_pending_ones() -> None:
    metrics = observed(cluster_of(RUNNING))
    assert gauge(metrics, "oldest_pending_workload_timestamp_seconds", cluster_queue="team-a") is None


STATES: dict[str, tuple[tuple[str, ...], str]] = {
    "new": ((), "Pending"),
    "accepted by the autoscaler": (("Accepted",), "Accepted"),
    "there": (("Accepted", "Provisioned"), "Provisioned"),
    "taken back": (("Accepted", "Provisioned", "CapacityRevoked"), "CapacityRevoked"),
    "out of stock": (("Accepted", "Failed"), "Failed"),
}


@pytest.mark.parametrize("name", STATES)
def test_provisioning_requests_by_state(name: str) -> None:
    conditions, state = STATES[name]
    metrics = observed(cluster_of(RESERVED, requests=(request(*conditions),)))
    assert gauge(metrics, "provisioning_requests", cluster_queue="team-a", state=state) == 1
    oldest = "oldest_provisioning_request_timestamp_seconds"
    assert gauge(metrics, oldest, cluster_queue="team-a", state=state) == millis(CREATED) / 1000


def test_requests_of_other_owners_are_not_counted() -> None:
    metrics = observed(cluster_of(RESERVED, requests=(request(owner="uid-of-another"),)))
    assert gauge(metrics, "provisioning_requests", cluster_queue="team-a", state="Pending") is None


A_KIND: Kind[Any] = kinds.WORKLOADS


def test_an_unreadable_quota_is_0() -> None:
    cluster = cluster_of(QUEUED)
    quota = {"gpu": "1e400", "cpu": 8, "memory": "32Gi"}
    broken = cluster_queue("broken", quotas("l4", **quota))
    cluster.cluster_queues = {**cluster.cluster_queues, "broken": read(kinds.CLUSTER_QUEUES, broken)}
    metrics = observed(cluster)
    column = {"cohort": "ml", "cluster_queue": "broken", "flavor": "l4"}
    assert gauge(metrics, "cluster_queue_nominal_quota", **column, resource=GPU) == 0
    written = {
        s.write.key: s.write.body["status"]["conditions"][0]  # type: ignore[union-attr]  # a MergePatch
        for s in queue_statuses(cluster)
        if s.write.kind is kinds.CLUSTER_QUEUES
    }
    assert written["broken"]["status"] == "False"
    assert (
        "nominal quota for nvidia.com/gpu of flavor l4: '1e400' is not a quantity"
        in written["broken"]["message"]
    )


WRITES: dict[str, tuple[Write, int | None, Mapping[str, str]]] = {
    "done": (Create(A_KIND, {}), None, {"verb": "create", "result": "done"}),
    "a conflict": (MergePatch(A_KIND, "k", {}, "1"), 409, {"verb": "patch", "result": "stale"}),
    "not allowed": (JsonPatch(A_KIND, "k", (), "1"), 403, {"verb": "patch", "result": "refused"}),
    "no answer": (Delete(A_KIND, "k"), 0, {"verb": "delete", "result": "unsure"}),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_are_counted_by_result(name: str) -> None:
    write, code, labels = WRITES[name]
    metrics = Metrics(lambda: True)
    metrics.wrote(write, None if code is None else WriteError(write, code, "no"))
    assert gauge(metrics, "writes_total", kind="Workload", **labels) == 1


@pytest.mark.parametrize("leads", [True, False])
def test_the_leader_gauge_follows_the_election(leads: bool) -> None:
    assert gauge(Metrics(lambda: leads), "leader") == leads


def test_every_name_is_exported_before_the_first_pass(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    names = {family.name for family in Metrics(lambda: False).registry.collect()}
    assert {"muster_pending_workloads", "muster_admission_wait_time_seconds", "muster_writes"} <= names


def test_gangs_whose_suspension_is_blocked_are_counted() -> None:
    body = workload_body(ray_job("dev"))
    body["status"]["conditions"] = [condition("SuspensionBlocked", reason="PodsRunning")]
    over = workload_body(ray_job("over"))
    over["status"]["conditions"] = [condition("SuspensionBlocked", False, "Stopped")]
    metrics = observed(cluster_of(body, over))
    written = {
        (*s.labels.values(), s.value)
        for family in metrics.registry.collect()
        for s in family.samples
        if s.name == "muster_suspension_blocked_workloads"
    }
    assert written == {("team-a", "PodsRunning", 1)}
    assert gauge(metrics, "suspension_blocked_workloads", cluster_queue="team-a", reason="PodsRunning") == 1


def test_only_written_statuses_are_counted() -> None:
    cluster = cluster_of(QUEUED)
    (workload,) = cluster.workloads.values()
    spec = MergePatch(kinds.WORKLOADS, workload.key, {"spec": {"active": False}}, "1")
    elsewhere = PlannedWrite("uid-dev", Create(kinds.WORKLOADS, {}))
    assert "muster_admitted_workloads_total" not in str(
        counted(observed(cluster, PlannedWrite(workload.key, spec), elsewhere))
    )
