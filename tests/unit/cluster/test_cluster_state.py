"""Lookups in the cluster: gangs of deleted queues, answers about pods, checks and queues."""

from dataclasses import replace
from typing import Any

import pytest

from muster import admission as core
from muster.cluster.jobs.pod_checks import PodChecks
from muster.controller.passes.reconcile import reconcile
from muster.controller.workload.decisions import required_checks
from muster.kube import kinds
from muster.kube.client import Kube
from muster.kube.kinds import Kind
from tests.simulation.manifests import cluster_queue, local_queue, metadata, quotas, ray_job
from tests.unit.controller.builders import (
    NOW_MS,
    Body,
    condition,
    job,
    make_cluster,
    read,
    stored,
    workload_body,
)


def test_a_deleted_queue_has_the_flavors_of_all_its_gangs() -> None:
    gangs = [workload_body(ray_job(name), "QuotaReserved", "Admitted") for name in ("one", "two")]
    for gang, flavor in zip(gangs, ("cpu", "l4"), strict=True):
        for assigned in gang["status"]["admission"]["podSetAssignments"]:
            assigned["flavors"] = dict.fromkeys(assigned["flavors"], flavor)
    objects: dict[Kind[Any], list[Body]] = {
        kinds.CLUSTER_QUEUES: [],
        kinds.RAY_JOBS: [stored(ray_job(name)) for name in ("one", "two")],
        kinds.WORKLOADS: gangs,
    }
    assert make_cluster(objects).deleted_queues == {"team-a": frozenset({"cpu", "l4"})}


# QuotaReserved -> the answer about a gang's pods before there is one
UNANSWERED = {
    "never decided on": (None, None),
    "only refused": (condition("QuotaReserved", status=False, reason="Misconfigured"), None),
    "keeps its place": (condition("QuotaReserved", status=False, reason="WaitingForQuota"), ""),
}


@pytest.mark.parametrize("name", UNANSWERED)
def test_whether_a_gang_waits_for_an_answer_about_its_pods(name: str) -> None:
    condition, expected = UNANSWERED[name]
    body = workload_body(ray_job("dev"))
    body["status"]["conditions"] = [condition] if condition else []
    cluster = replace(make_cluster(), pod_checks=PodChecks(Kube, lambda: None, lambda: 0.0))  # type: ignore[arg-type]  # never used
    assert cluster.pod_refusal(read(kinds.WORKLOADS, body), job(ray_job("dev"))) == expected


# flavor of an admission -> its checks, of "always" and "only l4"
REQUIRED = {"cpu": ("always",), "l4": ("always", "only l4")}


@pytest.mark.parametrize("flavor", REQUIRED)
def test_the_checks_of_an_admission(flavor: str) -> None:
    rules = [{"name": "always"}, {"name": "only l4", "onFlavors": ["l4"]}]
    body = stored(
        cluster_queue("team-a", quotas("cpu", cpu=1), admissionChecksStrategy={"admissionChecks": rules})
    )
    assigned = core.PodSetAssignment("workers", 1, {"cpu": flavor}, {"cpu": 1})
    checks = required_checks(read(kinds.CLUSTER_QUEUES, body), core.Admission("team-a", (assigned,)))
    assert checks == REQUIRED[flavor]


def test_queues_to_choose_from_are_those_of_the_namespace() -> None:
    body = ray_job("dev", queue="")
    body["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = ""
    queues = [local_queue("team-a", "team-a", "ours"), local_queue("team-b", "team-b", "theirs")]
    cluster = make_cluster({kinds.RAY_JOBS: [stored(body)], kinds.LOCAL_QUEUES: queues})
    (event,) = reconcile(cluster, NOW_MS).writes.repeated_events
    assert "(choose one of ours)" in event.message


@pytest.mark.parametrize(("queue", "reasons"), [("", ["Misconfigured"]), ("user-queue", [])])
def test_an_empty_queue_label_is_recorded_as_an_event(queue: str, reasons: list[str]) -> None:
    body = ray_job("dev")
    body["metadata"] = metadata("dev", "team-a", "user-queue", "")
    body["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = queue
    result = reconcile(make_cluster({kinds.RAY_JOBS: [stored(body)]}), NOW_MS)
    assert [event.reason for event in result.writes.repeated_events] == reasons
