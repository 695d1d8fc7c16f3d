"""Stopping a gang: the first writes, and the writes after a minute."""

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import pytest

from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.gangs.stops import stops, template_resets
from muster.controller.workload.suspension import is_stopped, quota_may_be_released, with_suspension_progress
from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.kube.writes import Delete, JsonPatch, Overwrite
from muster.objects.kueue import WorkloadStatus
from muster.objects.meta import find_condition, rfc3339
from muster.objects.names import WORKLOAD_UID_LABEL
from tests.simulation.manifests import ray_cluster, ray_job, ray_service
from tests.unit.controller.builders import (
    NOW_MS,
    Body,
    condition,
    make_cluster,
    read,
    stored,
    workload_body,
    workload_without_job,
)
from tests.unit.controller.gangs.evicted_gangs import RUNS, UID, evicted, gang_pod
from tests.unit.controller.passes.pass_cases import child, dev, kind_of, service

Objects = dict[Kind[Any], list[Body]]
A_YEAR_S = 31_536_000
KEPT: dict[str, Any] = {"deletionTimestamp": rfc3339(NOW_MS), "finalizers": ["tenant.example/mine"]}
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "mine", "uid": "uid-mine", "controller": True}


def without_owner(body: Body, **meta: Any) -> Body:
    return {**body, "metadata": {**body["metadata"], "ownerReferences": [], **meta}}


def running(**spec: Any) -> Body:
    body = dev("Running", suspend=False)
    body["spec"] |= spec
    return body


def dequeued() -> Body:
    body = running()
    body["metadata"]["labels"] = {}
    return body


def notebook(**group: Any) -> Body:
    body = ray_cluster("notebook")
    body["spec"]["suspend"] = False
    body["spec"]["workerGroupSpecs"][0] |= group
    return body


def elsewhere(body: Body) -> Body:
    moved = deepcopy(body)
    moved["metadata"]["namespace"] = "team-b"
    return moved


def placed(*, suspend: bool) -> Body:
    body = dev("Suspended" if suspend else "Running", suspend=suspend)
    head = body["spec"]["rayClusterSpec"]["headGroupSpec"]
    head["template"] = {**head["template"], "metadata": {"labels": {WORKLOAD_UID_LABEL: UID}}}
    return body


def described(planned: PlannedWrite) -> str:
    match planned.write:
        case Overwrite():
            return f"suspend {planned.write.kind} {planned.write.key}"
        case Delete():
            return f"delete {planned.write.key} within {planned.write.grace_s} s"
        case JsonPatch():
            return f"restore {planned.write.key}"
    raise AssertionError(planned.write)


def refused_service() -> Body:
    conditions = [condition("Ready", False, "ValidationFailed", "its name is too long")]
    return {**service(suspend=False), "status": {"conditions": conditions}}


JOB, CHILD = "suspend RayJob team-a/dev", "suspend RayCluster team-a/dev-1"
NOTEBOOK = "suspend RayCluster team-a/notebook"
SUBMITTER = "suspend Job team-a/dev"


@dataclass
class Case:
    """`objects`: without the Workload; `written`: the expected writes."""

    workload: Body
    objects: list[Body]
    writes: list[str] = field(default_factory=list)


CASES = {
    "a job": Case(evicted(), [running(), child()], [JOB]),
    "a job that is refused": Case(evicted(), [running(shutdownAfterJobFinishes=False), child()], [JOB]),
    "a job in ValidationFailed": Case(
        evicted(), [dev("ValidationFailed", suspend=False), child()], [JOB, CHILD]
    ),
    "a job that waits for its jobId": Case(evicted(), [dev("Waiting", suspend=False), child()], [JOB, CHILD]),
    "a job managed by another controller": Case(
        evicted(), [running(managedBy="kueue.x-k8s.io/multikueue"), child()], [JOB, CHILD]
    ),
    "a job with an owner": Case(evicted(), [dev("Running", suspend=False, ownerReferences=[OWNER])], [JOB]),
    "a job that has left its queue with its quota": Case(
        workload_body(ray_job("dev"), *RUNS), [dequeued()], [JOB]
    ),
    "a job that has left its queue without quota": Case(workload_body(ray_job("dev")), [dequeued()]),
    "a job that is deleted but kept": Case(
        evicted(), [dev("Running", suspend=False, **KEPT), child()], [CHILD]
    ),
    "a job that is suspended": Case(evicted(), [dev("Suspending"), child()]),
    "a job that runs with quota": Case(workload_body(ray_job("dev"), *RUNS), [running(), child()]),
    "a job that ended": Case(evicted(), [dev("Complete", suspend=False), child()]),
    "a job of the same UID elsewhere": Case(evicted(), [elsewhere(running())]),
    "a RayCluster of the same owner elsewhere": Case(
        evicted(), [dev("ValidationFailed"), elsewhere(child())], []
    ),
    "a RayCluster without its owner": Case(
        evicted(),
        [dev("ValidationFailed"), stored(ray_cluster("dev-1")) | {"spec": child()["spec"]}, gang_pod("a")],
        [CHILD],
    ),
    "a RayCluster": Case(evicted(1, ray_cluster("notebook")), [stored(notebook())], [NOTEBOOK]),
    "a RayCluster that KubeRay refuses": Case(
        evicted(1, ray_cluster("notebook")), [stored(notebook(maxReplicas=-1))], [NOTEBOOK]
    ),
    "a service whose start KubeRay has not observed": Case(
        evicted(1, ray_service("llm")),
        [service(suspend=False, placed=True), child("llm", suspend=True, rests=True)],
    ),
    "a service whose start KubeRay has not observed, after a minute": Case(
        evicted(62, ray_service("llm")),
        [service(suspend=False, placed=True), child("llm", suspend=True, rests=True)],
        ["suspend RayService team-a/llm"],
    ),
    "its RayCluster, after a minute": Case(evicted(62), [dev("Running"), child()], [CHILD]),
    "its pods, not before a minute": Case(evicted(58), [dev("Running"), child(), gang_pod("a")]),
    "its pods, after a minute": Case(
        evicted(62),
        [dev("Running"), child(suspend=True), gang_pod("a"), gang_pod("b")],
        ["delete team-a/a within 30 s", "delete team-a/b within 30 s"],
    ),
    "pods that end soon are not deleted again": Case(
        evicted(62),
        [
            dev("Running"),
            child(suspend=True),
            gang_pod("a", deletionTimestamp=rfc3339(NOW_MS), deletionGracePeriodSeconds=30),
        ],
    ),
    "pods with a grace period of a year are deleted again": Case(
        evicted(62),
        [
            dev("Running"),
            child(suspend=True),
            gang_pod("a", deletionTimestamp=rfc3339(NOW_MS), deletionGracePeriodSeconds=A_YEAR_S),
        ],
        ["delete team-a/a within 30 s"],
    ),
    "pods of the gang are deleted whatever owns them, those of other namespaces are not": Case(
        evicted(62),
        [
            dev("Running"),
            child(suspend=True),
            gang_pod("loose", ownerReferences=[]),
            elsewhere(gang_pod("far")),
        ],
        ["delete team-a/loose within 30 s"],
    ),
    "the submitter of a job that KubeRay ignores": Case(
        evicted(),
        [dev("ValidationFailed"), child(suspend=True), gang_pod("s", "dev", kinds.BATCH_JOBS)],
        [SUBMITTER],
    ),
    "the submitter's pod, after a minute": Case(
        evicted(62),
        [dev("ValidationFailed"), child(suspend=True), gang_pod("s", "dev", kinds.BATCH_JOBS)],
        [SUBMITTER, "delete team-a/s within 30 s"],
    ),
    "remaining objects of a deleted job, after a minute": Case(
        without_owner(evicted(62)),
        [child(), gang_pod("a"), gang_pod("s", "dev", kinds.BATCH_JOBS)],
        [CHILD, SUBMITTER, "delete team-a/a within 30 s", "delete team-a/s within 30 s"],
    ),
    "one without any mark of its job, after a minute": Case(
        without_owner(evicted(62), labels={}),
        [child(), gang_pod("a")],
        [CHILD, "delete team-a/a within 30 s"],
    ),
    "one without any mark of its job that has quota": Case(
        without_owner(workload_body(ray_job("dev"), *RUNS), labels={}), [child(), gang_pod("a")]
    ),
    "a Workload that was created without a job": Case(workload_without_job("dev", *RUNS, "Evicted"), []),
    "templates of a suspended job": Case(evicted(), [placed(suspend=True)], ["restore team-a/dev"]),
    "no templates before the suspension": Case(evicted(), [placed(suspend=False)], [JOB]),
}


def objects_of(case: Case) -> Objects:
    sorted_out: Objects = {kinds.WORKLOADS: [case.workload]}
    for body in case.objects:
        sorted_out.setdefault(kind_of(body), []).append(body)
    return sorted_out


@pytest.mark.parametrize("name", CASES)
def test_writes_for_a_gang_that_must_stop(name: str) -> None:
    case = CASES[name]
    cluster, workload = make_cluster(objects_of(case)), read(kinds.WORKLOADS, case.workload)
    writes = [*stops(workload, cluster, NOW_MS), *template_resets(workload, cluster)]
    assert [described(planned) for planned in writes] == case.writes
    subjects = [planned.subject for planned in writes]
    assert len({*subjects, workload.key}) == len(subjects) + 1, "each write fails alone"


def test_a_suspension_is_bound_to_the_uid() -> None:
    case = CASES["a job"]
    (planned,) = stops(read(kinds.WORKLOADS, case.workload), make_cluster(objects_of(case)), NOW_MS)
    assert planned.write == Overwrite(kinds.RAY_JOBS, "team-a/dev", {"spec": {"suspend": True}}, "uid-dev")
    assert [event.reason for event in planned.events] == ["Stopped"]


# (is it stopped, may its quota be released)
GONE: dict[str, tuple[Case, tuple[bool, bool]]] = {
    "KubeRay reports it as suspended": (Case(evicted(), [dev("Suspended")]), (True, True)),
    "KubeRay is suspending it": (Case(evicted(), [dev("Suspending")]), (False, False)),
    "KubeRay has not answered for a minute": (Case(evicted(62), [dev("Running")]), (False, True)),
    "no answer for a minute, but pods exist": (
        Case(evicted(62), [dev("Running"), gang_pod("a")]),
        (False, False),
    ),
    "no answer for a minute, but it is not suspended": (Case(evicted(62), [running()]), (False, False)),
    "no answer for a minute, but its RayCluster is not suspended": (
        Case(evicted(62), [dev("Running"), child()]),
        (False, False),
    ),
    "no answer for a minute, all suspended": (
        Case(evicted(62), [dev("Running"), child(suspend=True)]),
        (False, True),
    ),
    "its RayCluster is kept by a finalizer": (
        Case(evicted(62), [dev("Suspending"), {**child(), "metadata": {**child()["metadata"], **KEPT}}]),
        (False, True),
    ),
    "the job is kept by a finalizer": (
        Case(evicted(), [dev("Running", suspend=False, **KEPT)]),
        (True, True),
    ),
    "the job and its RayCluster are kept by finalizers": (
        Case(evicted(), [dev("Running", suspend=False, **KEPT), child()]),
        (False, False),
    ),
    "a pod of another namespace": (
        Case(evicted(), [dev("Suspended"), elsewhere(gang_pod("far"))]),
        (True, True),
    ),
}


@pytest.mark.parametrize("name", GONE)
def test_when_a_gang_is_stopped_and_its_quota_released(name: str) -> None:
    case, expected = GONE[name]
    cluster, workload = make_cluster(objects_of(case)), read(kinds.WORKLOADS, case.workload)
    job = cluster.job_of(workload)
    assert (
        is_stopped(workload, job, cluster),
        quota_may_be_released(workload, job, cluster, NOW_MS),
    ) == expected


REASONS: dict[str, tuple[Case, str, str]] = {
    "refused": (
        Case(evicted(122), [dev("ValidationFailed", status={"message": "bad"}), child()]),
        "ValidationFailed",
        "RayJob dev was rejected by KubeRay (bad): correct and recreate it",
    ),
    "kept by finalizers": (
        Case(evicted(122), [dev("Running", **KEPT), child()]),
        "Finalizers",
        "RayJob dev is being deleted, with finalizers tenant.example/mine",
    ),
    "managed by others": (
        Case(evicted(122), [running(managedBy="kueue.x-k8s.io/multikueue")]),
        "ManagedBy",
        "RayJob dev has spec.managedBy kueue.x-k8s.io/multikueue, so KubeRay does not reconcile it",
    ),
    "a RayService that KubeRay refused": (
        Case(evicted(122, ray_service("llm")), [refused_service()]),
        "ValidationFailed",
        "RayService llm was rejected by KubeRay (its name is too long)",
    ),
    "KubeRay is silent": (
        Case(evicted(122), [dev("Running")]),
        "OperatorNotResponding",
        "KubeRay has not suspended RayJob dev: check its logs and events",
    ),
    "pods run": (
        Case(evicted(122), [dev("Suspended"), gang_pod("a")]),
        "PodsRunning",
        "pods are still running: a",
    ),
    "a RayCluster that KubeRay refuses": (
        Case(evicted(122, ray_cluster("notebook")), [notebook(maxReplicas=-1)]),
        "InvalidSpec",
        "RayCluster notebook is rejected by KubeRay: worker group 'gpu': maxReplicas is -1; expected at "
        "least 0",
    ),
    "a few pods run": (
        Case(evicted(122), [dev("Suspended"), *(gang_pod(f"p{n}") for n in range(6))]),
        "PodsRunning",
        "pods are still running: p0, p1, p2, p3, p4 and 1 more",
    ),
    "many pods do not end": (
        Case(
            evicted(122),
            [dev("Suspended"), *(gang_pod(f"p{n}", deletionTimestamp=rfc3339(NOW_MS)) for n in range(7))],
        ),
        "PodsTerminating",
        "pods are still terminating: p0, p1, p2, p3, p4 and 2 more",
    ),
    "finalizers keep pods": (
        Case(
            evicted(122),
            [
                dev("Suspended"),
                gang_pod("a", deletionTimestamp=rfc3339(NOW_MS), finalizers=["tenant.example/mine"]),
                gang_pod("b", deletionTimestamp=rfc3339(NOW_MS)),
            ],
        ),
        "PodsTerminating",
        "pods are still terminating: a, b, some with finalizers that must be removed: tenant.example/mine",
    ),
}


def progress(case: Case) -> tuple[WorkloadStatus, int | None]:
    workload, cluster = read(kinds.WORKLOADS, case.workload), make_cluster(objects_of(case))
    return with_suspension_progress(workload, cluster.job_of(workload), workload.status, cluster, NOW_MS)


@pytest.mark.parametrize("name", REASONS)
def test_obstacles_to_a_suspension(name: str) -> None:
    case, reason, sentence = REASONS[name]
    status, _ = progress(case)
    blocked = find_condition(status.conditions, "SuspensionBlocked")
    assert blocked is not None
    assert (blocked.status, blocked.reason) == ("True", reason)
    assert blocked.message == f"The gang must stop but has not stopped: {sentence}"


@pytest.mark.parametrize(("seconds", "until"), [(10, 50_999), (100, 20_999)])
def test_the_controller_wakes_up_for_a_late_suspension(seconds: int, until: int) -> None:
    case = Case(evicted(seconds), [dev("Running"), child(suspend=True)])
    assert progress(case) == (read(kinds.WORKLOADS, case.workload).status, NOW_MS + until)


def test_the_end_of_a_blocked_suspension_is_in_the_status() -> None:
    case = Case(evicted(300, None, "SuspensionBlocked"), [dev("Suspended")])
    status, _ = progress(case)
    done = find_condition(status.conditions, "SuspensionBlocked")
    assert done is not None
    assert (done.status, done.reason) == ("False", "Stopped")
