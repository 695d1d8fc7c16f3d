"""The workloads of a queue: which run, which wait, in which order, and what their rows say."""

from collections.abc import Mapping
from typing import Any

import pytest

from muster.cluster.phases import Phase
from muster.kube import kinds
from muster.live.eta.start_range import StartRange
from muster.live.observed import ObservationError
from muster.live.overview.details import QueueDetails, all_rows, queue_details
from muster.live.overview.document import document
from muster.live.overview.overview import overview
from muster.objects.meta import rfc3339
from muster.objects.names import ETA_ANNOTATION
from tests.simulation.manifests import GPU, local_queue, ray_job, workload
from tests.unit.controller.builders import NOW_MS, Body, stored, workload_body
from tests.unit.live.builders import cluster, finished, running, since, waiting

STARTS = StartRange(NOW_MS - 5_000, NOW_MS + 60_000, NOW_MS + 120_000, None, 20)
INACTIVE = waiting(ray_job("off"), "Suspended")
INACTIVE["spec"]["active"] = False
EVICTED = running(ray_job("evicted"))
EVICTED["status"]["conditions"].append(since("Evicted", 30, reason="Preempted"))
CHECKED = running(ray_job("checked"))
CHECKED["status"] |= {
    "conditions": [since("QuotaReserved", 20)],
    "admissionChecks": [
        {"name": "nodes", "state": "Pending", "message": "no nodes yet"},
        {"name": "budget", "state": "Ready", "message": "within"},
    ],
}


def details(*workloads: Body, name: str = "team-a", namespace: str = "", **of: Any) -> QueueDetails:
    return queue_details(overview(cluster(*workloads, **of), NOW_MS), name, namespace)


def waiting_since(name: str, ago_s: float, **fields: Any) -> Body:
    body = waiting(ray_job(name, **fields))
    body["metadata"]["creationTimestamp"] = rfc3339(NOW_MS - round(1000 * ago_s))
    return body


def test_waiting_workloads_are_in_the_order_of_their_queue() -> None:
    queue_details = details(
        waiting_since("new", 10),
        waiting_since("old", 90),
        INACTIVE,
        waiting_since("urgent", 5, priority="prod-priority"),
    )
    assert [(wait.job, wait.position) for wait in queue_details.waiting] == [
        ("rayjob/urgent", 1),
        ("rayjob/old", 2),
        ("rayjob/new", 3),
        ("rayjob/off", None),
    ]
    assert queue_details.running == ()


def test_a_row_says_what_a_workload_is() -> None:
    (row,) = details(waiting(ray_job("new"))).waiting
    assert (row.namespace, row.local_queue, row.cluster_queue) == ("team-a", "user-queue", "team-a")
    assert (row.priority, row.priority_class, row.pods) == (100, "dev-priority", 6)
    assert row.requests[GPU] == 4
    assert (row.created_ms, row.queued_ms) == (NOW_MS - 60_000, NOW_MS - 60_000)
    assert (row.since_ms, row.flavors) == (NOW_MS - 5_000, ())


ROWS: Mapping[str, tuple[Body, Phase, str, str]] = {
    "it waits for quota": (waiting(ray_job("one")), Phase.PENDING, "WaitingForQuota", "as before"),
    "nothing is said yet": (workload_body(ray_job("one")), Phase.PENDING, "", ""),
    "it runs": (running(ray_job("one")), Phase.ADMITTED, "", ""),
    "it is leaving": (EVICTED, Phase.EVICTED, "Preempted", "as before"),
    "it is deactivated": (INACTIVE, Phase.PENDING, "Deactivated", "as before"),
    "it waits for its checks": (CHECKED, Phase.QUOTA_RESERVED, "AdmissionChecks", "nodes: no nodes yet"),
}


@pytest.mark.parametrize("name", ROWS)
def test_phase_and_reason(name: str) -> None:
    body, phase, reason, message = ROWS[name]
    queue_details = details(body)
    (row,) = (*queue_details.running, *queue_details.waiting)
    assert (row.phase, row.reason, row.message) == (phase, reason, message)
    assert row.runs is bool(queue_details.running)


def test_what_is_over_is_not_listed() -> None:
    queue_details = details(finished(ray_job("old")))
    assert (queue_details.running, queue_details.waiting) == ((), ())


def test_running_ones_come_the_longest_first() -> None:
    queue_details = details(running(ray_job("short", workers=1), 10), running(ray_job("long", workers=1), 90))
    assert [(row.job, row.flavors) for row in queue_details.running] == [
        ("rayjob/long", ("cpu", "l4")),
        ("rayjob/short", ("cpu", "l4")),
    ]


def test_a_local_queue_has_its_own_workloads_with_positions_in_the_cluster_queue() -> None:
    queues = [local_queue("team-a", "team-a"), local_queue("team-a", "team-a", "other")]
    queue_details = details(
        waiting_since("first", 90),
        waiting_since("mine", 10, queue="other"),
        name="other",
        namespace="team-a",
        LOCAL_QUEUES=queues,
    )
    assert (queue_details.kind, queue_details.name, queue_details.cluster_queue) == (
        "LocalQueue",
        "team-a/other",
        "team-a",
    )
    assert [(wait.job, wait.position) for wait in queue_details.waiting] == [("rayjob/mine", 2)]
    assert queue_details.workloads.pending == 1
    assert queue_details.quota is not None
    assert queue_details.quota.workloads.pending == 2


def test_a_local_queue_may_be_named_with_its_namespace() -> None:
    assert details(name="team-b/user-queue").cluster_queue == "team-b"


def test_a_local_queue_without_its_cluster_queue_has_no_quota() -> None:
    queue_details = details(
        waiting(ray_job("one")), name="team-a/user-queue", LOCAL_QUEUES=[local_queue("team-a", "gone")]
    )
    assert queue_details.quota is None
    assert [wait.position for wait in queue_details.waiting] == [None]


def test_an_unknown_queue_is_refused_with_those_that_exist() -> None:
    expected = (
        "no ClusterQueue or LocalQueue 'x'; expected one of: team-a, team-b; LocalQueues of namespace team-a"
        ": user-queue"
    )
    with pytest.raises(ObservationError, match=expected):
        details(name="x", namespace="team-a")


def announced(text: str) -> StartRange | None:
    job = ray_job("new")
    job["metadata"]["annotations"][ETA_ANNOTATION] = text
    (row,) = details(waiting(ray_job("new")), RAY_JOBS=[stored(job)]).waiting
    return row.eta


def test_the_estimate_is_that_on_the_job() -> None:
    assert announced(STARTS.annotation) == STARTS


@pytest.mark.parametrize("text", ["soon", "{}", '{"at": "noon", "futures": 1}', '{"at": 1, "futures": 1}'])
def test_an_annotation_that_is_no_estimate_is_none(text: str) -> None:
    assert announced(text) is None


def test_workloads_of_any_owner_are_listed() -> None:
    alone = stored(workload("alone"))
    (row,) = details(alone).waiting
    assert (row.job, row.requests[GPU]) == ("workload/alone", 2)


def test_all_workloads_are_listed_by_queue() -> None:
    of = cluster(waiting(ray_job("b", namespace="team-b")), waiting(ray_job("a")), running(ray_job("c")))
    assert [workload.job for workload in all_rows(overview(of, NOW_MS))] == [
        "rayjob/c",
        "rayjob/a",
        "rayjob/b",
    ]


def test_document_has_times() -> None:
    job = ray_job("new")
    job["metadata"]["annotations"][ETA_ANNOTATION] = STARTS.annotation
    rendered = document(details(waiting(ray_job("new")), RAY_JOBS=[stored(job)]))
    (row,) = rendered["waiting"]
    assert row["phase"] == "Pending"
    assert row["queued"] == rfc3339(NOW_MS - 60_000)
    assert row["requests"][GPU] == "4"
    assert row["eta"] == {
        "at": rfc3339(STARTS.at_ms),
        "p10": rfc3339(NOW_MS + 60_000),
        "p50": rfc3339(NOW_MS + 120_000),
        "p90": None,
        "futures": 20,
    }
    assert rendered["now"] == rfc3339(NOW_MS)
    assert kinds.CLUSTER_QUEUES.name == rendered["kind"]
