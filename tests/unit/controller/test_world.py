"""What passes look up in the world: gangs of queues that are gone, and answers about pods."""

from dataclasses import replace
from typing import Any

import pytest

from muster.controller.pod_checks import PodChecks
from muster.controller.reconcile import reconcile
from muster.kube import kinds
from muster.kube.client import Kube
from muster.kube.kinds import Kind
from tests.simulation.manifests import metadata, ray_job
from tests.unit.controller.builders import (
    NOW_MS,
    Body,
    condition,
    job,
    make_world,
    read,
    stored,
    workload_body,
)


def test_flavors_of_all_gangs_of_a_queue_that_is_gone() -> None:
    gangs = [workload_body(ray_job(name), "QuotaReserved", "Admitted") for name in ("one", "two")]
    for gang, flavor in zip(gangs, ("cpu", "l4"), strict=True):
        for assigned in gang["status"]["admission"]["podSetAssignments"]:
            assigned["flavors"] = dict.fromkeys(assigned["flavors"], flavor)
    objects: dict[Kind[Any], list[Body]] = {
        kinds.CLUSTER_QUEUES: [],
        kinds.RAY_JOBS: [stored(ray_job(name)) for name in ("one", "two")],
        kinds.WORKLOADS: gangs,
    }
    assert make_world(objects).vanished_queues == {"team-a": frozenset({"cpu", "l4"})}


# QuotaReserved -> what is known of a gang whose pods nobody has answered for yet
UNANSWERED = {
    "never decided on": (None, None),
    "only refused": (condition("QuotaReserved", status=False, reason="Misconfigured"), None),
    "keeps its place": (condition("QuotaReserved", status=False, reason="WaitingForQuota"), ""),
}


@pytest.mark.parametrize("name", UNANSWERED)
def test_whether_a_gang_waits_for_an_answer_about_its_pods(name: str) -> None:
    told, expected = UNANSWERED[name]
    body = workload_body(ray_job("dev"))
    body["status"]["conditions"] = [told] if told else []
    world = replace(make_world(), pod_checks=PodChecks(Kube, lambda: None))  # type: ignore[arg-type]  # asks nobody
    assert world.pods_refused(read(kinds.WORKLOADS, body), job(ray_job("dev"))) == expected


@pytest.mark.parametrize(("queue", "told"), [("", ["Misconfigured"]), ("user-queue", [])])
def test_an_empty_queue_label_is_told(queue: str, told: list[str]) -> None:
    body = ray_job("dev")
    body["metadata"] = metadata("dev", "team-a", "user-queue", "")
    body["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = queue
    result = reconcile(make_world({kinds.RAY_JOBS: [stored(body)]}), NOW_MS)
    assert [note.reason for note in result.notices] == told
