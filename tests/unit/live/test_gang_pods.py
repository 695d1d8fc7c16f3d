"""The pods of a gang: which lists find them, and which pods of a namespace are the gang's."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from muster.kube import kinds
from muster.live.gang_pods import NO_PODS, GangPods, PodListing, gang_pods, list_pods
from muster.objects.kueue import Workload
from tests.simulation.manifests import ray_cluster, ray_job
from tests.unit.controller.builders import Body, controlled_by, read, stored
from tests.unit.live.builders import cluster, finished, running, since, waiting
from tests.unit.live.elastic import objects, running_elastic
from tests.unit.live.listing import Listing
from tests.unit.live.pods import READY, condition, detailed, labelled, pod

JOB = ray_job("train")
ADMITTED = running(JOB)
UID = ADMITTED["metadata"]["uid"]
CREATED = stored(
    ray_cluster("train-x"),
    ownerReferences=[controlled_by(kinds.RAY_JOBS, "train")],
    labels={"ray.io/originated-from-crd": "RayJob"},
)
RESERVED = {**ADMITTED, "status": {**ADMITTED["status"], "conditions": [since("QuotaReserved", 5)]}}
EVICTED = {**ADMITTED, "status": {**ADMITTED["status"]}}
EVICTED["status"]["conditions"] = [*ADMITTED["status"]["conditions"], since("Evicted", 5)]

OURS = pod("ours", READY, labels=labelled(UID, "train-x"))
UNLABELLED = pod("unlabelled", READY, labels=labelled("", "train-x"))
OTHER = pod("other", READY, labels=labelled("uid-other", "other-x"))
ELSEWHERE = pod("elsewhere", READY, labels=labelled(UID, "train-x"))
ELSEWHERE["metadata"]["namespace"] = "team-b"
SUBMITTER = pod("submitter", READY, labels={"batch.kubernetes.io/job-name": "train"})
LEAVING = pod("leaving", READY, labels=labelled(UID, "train-x"), deleted=True)


def viewed(body: Body) -> Workload:
    workload: Workload = read(kinds.WORKLOADS, body)
    return workload


@dataclass(frozen=True)
class ListCase:
    """`names`: the listed pods; None if none are listed. `requests` is the number of lists."""

    workload: Body
    pods: tuple[Body, ...]
    names: set[str] | None
    requests: int


LISTS = {
    "labelled": ListCase(ADMITTED, (OURS, UNLABELLED, OTHER, ELSEWHERE), {"ours"}, 1),
    "of another engine": ListCase(ADMITTED, (UNLABELLED, OTHER, ELSEWHERE), {"unlabelled", "other"}, 2),
    "evicted": ListCase(EVICTED, (OURS, OTHER), {"ours"}, 1),
    "finished": ListCase(finished(JOB), (OURS, OTHER), {"ours"}, 1),
    "finished long ago": ListCase(finished(JOB), (UNLABELLED, OTHER), set(), 1),
    "pending": ListCase(waiting(JOB), (OURS,), None, 0),
    "waits for its checks": ListCase(RESERVED, (OURS,), None, 0),
}


@pytest.mark.parametrize("name", LISTS)
def test_pods_are_listed_in_phases_that_have_pods(name: str) -> None:
    case = LISTS[name]
    kube = Listing({kinds.DETAILED_PODS: list(case.pods)})
    listing = asyncio.run(list_pods(kube, viewed(case.workload)))
    names = None if listing.pods is None else {listed.metadata.name for listed in listing.pods}
    assert (names, len(kube.listed)) == (case.names, case.requests)


def test_missing_permission_is_not_an_empty_gang() -> None:
    listing = asyncio.run(list_pods(Listing({}, Pod=403), viewed(ADMITTED)))
    assert listing == PodListing(None, "you may not list pods in namespace team-a")
    assert asyncio.run(list_pods(Listing({}, Pod=403), viewed(waiting(JOB)))) == NO_PODS


def gang(*pods: Body, workload: Body = ADMITTED, job: Body = JOB, created: Body = CREATED) -> GangPods:
    objects = cluster(workload, RAY_JOBS=[stored(job)], RAY_CLUSTERS=[created])
    return gang_pods([detailed(body) for body in pods], viewed(workload), objects)


def test_pods_are_selected_by_the_label_of_admission_or_of_the_operator() -> None:
    selected = gang(OTHER, ELSEWHERE, SUBMITTER, UNLABELLED, OURS)
    assert [(p.metadata.name, selected.pod_set(p)) for p in selected.pods] == [
        ("ours", "gpu"),
        ("submitter", "submitter"),
        ("unlabelled", "gpu"),
    ]


def test_labelled_pods_of_a_deleted_job_are_selected_without_pod_sets() -> None:
    selected = gang_pods([detailed(OURS), detailed(UNLABELLED)], viewed(ADMITTED), cluster(ADMITTED))
    assert [(p.metadata.name, selected.pod_set(p)) for p in selected.pods] == [("ours", "")]
    assert selected.expected == 0


def test_cluster_of_another_creator_is_not_the_jobs() -> None:
    foreign = {**CREATED, "metadata": {**CREATED["metadata"], "labels": {}}}
    assert gang(UNLABELLED, created=foreign).pods == ()


EXPECTED = {
    "a head and its workers, without the submitter": (ADMITTED, JOB, 5),
    "evicted": (EVICTED, JOB, 0),
    "quota only": (RESERVED, JOB, 0),
    "ended, and not yet finished": (ADMITTED, {**JOB, "status": {"jobDeploymentStatus": "Complete"}}, 0),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_pods_are_expected_of_admitted_gangs_only(name: str) -> None:
    workload, job, expected = EXPECTED[name]
    assert gang(workload=workload, job=job).expected == expected


def test_partially_admitted_gangs_have_fewer_pods() -> None:
    partial = running(ray_job("train", workers=4))
    assignments = partial["status"]["admission"]["podSetAssignments"]
    (workers,) = (entry for entry in assignments if entry["name"] == "gpu")
    workers["count"] = 2
    assert gang(workload=partial).expected == 3


def test_created_pods_exclude_submitters_and_deleted_pods() -> None:
    assert gang(OURS, SUBMITTER, LEAVING, UNLABELLED).created == 2


def test_failure_of_the_operator_to_create_pods_is_read_from_its_cluster() -> None:
    failure = condition("ReplicaFailure", True, "FailedCreateWorkerPod", "exceeded quota")
    failing = {**CREATED, "status": {"conditions": [failure]}}
    reason = gang(created=failing).creation_failure
    assert reason is not None
    assert (reason.reason, reason.message) == ("FailedCreateWorkerPod", "exceeded quota")
    assert gang().creation_failure is None
    assert gang().operator == "KubeRay"


@pytest.mark.parametrize(("asked", "expected"), [(1, 2), (3, 4), (5, 4)])
def test_pods_that_the_autoscaler_does_not_ask_for_are_not_expected(asked: int, expected: int) -> None:
    """Workers with quota may wait for their nodes: the autoscaler asks for the others."""
    kinds_of: dict[str, Any] = objects(asked=asked)
    there = cluster(running_elastic(granted=3), **kinds_of)
    (workload,) = there.workloads.values()
    assert gang_pods((), workload, there).expected == expected
