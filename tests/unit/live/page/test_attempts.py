"""Attempts of gangs on the live timeline, from what Workloads say one after the other."""

from typing import Any

import pytest

from muster.cluster.cluster_state import ClusterState
from muster.kube import kinds
from muster.live.page.attempts import KEPT_MS, RecentAttempts
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import NOW_MS, Body, make_cluster, workload_body
from tests.unit.live.builders import finished, running, since

JOB = ray_job("train")
KEY = workload_body(JOB)["metadata"]["name"]


def shown(*states: list[Body], step_ms: int = 1_000) -> list[dict[str, Any]]:
    """Returns the rows after the last of these states of the cluster, a second apart."""
    attempts = RecentAttempts()
    rows: Any = {}
    for number, bodies in enumerate(states):
        cluster: ClusterState = make_cluster({kinds.WORKLOADS: bodies})
        rows = attempts.update(cluster, NOW_MS + number * step_ms)
    return list(rows.values())


def evicted(reason: str) -> Body:
    body = workload_body(JOB)
    body["status"] = {"conditions": [since("QuotaReserved", 0, False), since("Evicted", 0, reason=reason)]}
    return body


def test_running_gang_has_no_end() -> None:
    (row,) = shown([running(JOB, ran_s=60)])

    assert (row["name"], row["queue"], row["class"]) == ("team-a/train", "team-a", "dev-priority")
    assert row["workload"] == f"team-a/{KEY}"
    assert (row["reservedMs"], row["startedMs"], row["endedMs"]) == (NOW_MS - 60_000, NOW_MS - 60_000, None)
    assert (row["end"], row["accelerators"]) == ("running", 4)


def test_waiting_workload_is_not_drawn() -> None:
    assert shown([workload_body(JOB)]) == []


def test_gang_without_pods_has_reserved_and_not_started() -> None:
    (row,) = shown([workload_body(JOB, "QuotaReserved")])

    assert (row["startedMs"], row["end"]) == (None, "running")


ENDS: dict[str, tuple[list[Body], str]] = {
    "finished": ([finished(JOB, ago_s=0)], "finished"),
    "preempted": ([evicted("Preempted")], "preempted"),
    "no capacity": ([evicted("AdmissionCheck")], "not provisioned"),
    "queue stopped": ([evicted("ClusterQueueStopped")], "stopped"),
    "deleted": ([], "stopped"),
}


@pytest.mark.parametrize("name", ENDS)
def test_end_of_an_attempt_is_what_its_workload_says_next(name: str) -> None:
    bodies, end = ENDS[name]
    (row,) = shown([running(JOB, 600)], bodies)

    assert row["end"] == end
    assert row["endedMs"] in (NOW_MS, NOW_MS + 1_000)


def test_failed_job_is_told_from_one_that_succeeded() -> None:
    body = finished(JOB)
    body["status"]["conditions"][-1]["reason"] = "Failed"
    (row,) = shown([body])

    assert row["end"] == "failed"


def test_second_attempt_follows_the_first() -> None:
    first, second = shown([running(JOB, 600)], [evicted("Preempted")], [running(JOB, 0)])

    assert (first["end"], first["endedMs"]) == ("preempted", NOW_MS)
    assert (second["end"], second["reservedMs"]) == ("running", NOW_MS)


def test_attempts_are_dropped_when_they_ended_long_ago() -> None:
    assert shown([finished(JOB, ago_s=0)], [], step_ms=KEPT_MS + 1) == []


def test_many_attempts_are_bounded_and_the_running_ones_stay() -> None:
    bodies = []
    for number in range(15):
        body = finished(JOB, ago_s=1) if number else running(JOB)
        bodies.append({**body, "metadata": {**body["metadata"], "name": f"w{number}", "uid": f"u{number}"}})
    rows: Any = RecentAttempts(most=10).update(make_cluster({kinds.WORKLOADS: bodies}), NOW_MS).values()

    assert len(rows) == 10
    assert [row["workload"] for row in rows if row["end"] == "running"] == ["team-a/w0"]
