"""The end of KubeRay's Redis clean-up: with quota it runs, up to a minute; without quota it does not."""

from typing import Any, NamedTuple

import pytest

from muster.controller.gangs.redis_cleanup import (
    finalizer_removals,
    finalizer_removals_without_workload,
    label_removals,
)
from muster.controller.gangs.stops import stop_dependents
from muster.controller.passes.reconcile import reconcile
from muster.controller.workload.suspension import is_stopped, quota_may_be_released
from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.kube.writes import JsonPatch, MergePatch, Overwrite
from muster.objects.meta import FOREGROUND_DELETION, rfc3339
from muster.objects.names import QUEUE_LABEL, RESOURCE_IN_USE, WORKLOAD_UID_LABEL
from muster.objects.ray import ORIGIN_LABEL, REDIS_CLEANUP_FINALIZER
from tests.simulation.manifests import ray_cluster, ray_job, ray_service
from tests.unit.controller.builders import (
    NOW_MS,
    Body,
    controlled_by,
    make_cluster,
    pod,
    stored,
    workload_body,
)
from tests.unit.controller.passes.pass_cases import child

RUNS = ("QuotaReserved", "Admitted")
OTHER = "tenant.example/mine"


def deleted(seconds_ago: int = 1, *finalizers: str, **meta: Any) -> Body:
    """Returns a RayCluster that is being deleted, by default kept by KubeRay's clean-up."""
    at = rfc3339(NOW_MS - seconds_ago * 1000)
    finalizers_left = list(finalizers or (REDIS_CLEANUP_FINALIZER,))
    return stored(ray_cluster("notebook"), deletionTimestamp=at, finalizers=finalizers_left, **meta)


def notebook() -> Body:
    return ray_cluster("notebook")


def of_job(seconds_ago: int = 1) -> Body:
    owner = controlled_by(kinds.RAY_JOBS, "dev")
    return deleted(seconds_ago, ownerReferences=[owner], labels={ORIGIN_LABEL: "RayJob"})


def of_service() -> Body:
    owner = controlled_by(kinds.RAY_SERVICES, "llm")
    labels = {ORIGIN_LABEL: "RayService", QUEUE_LABEL: "user-queue"}
    return deleted(ownerReferences=[owner], labels=labels)


class Case(NamedTuple):
    """A RayCluster, its job if that is another object, and what follows."""

    ray_cluster: Body
    conditions: tuple[str, ...]
    job: Body | None = None
    removal: tuple[str, ...] | None = None  # the finalizers that stay
    stopped: bool = False
    finalizers: tuple[str, ...] = ()  # of the Workload


WAITS = stored(ray_job("dev"))
CASES = {
    "never admitted": Case(deleted(), (), removal=()),
    "another finalizer stays": Case(deleted(1, OTHER, REDIS_CLEANUP_FINALIZER), (), removal=(OTHER,)),
    "with quota": Case(deleted(), RUNS),
    "with quota, after a minute": Case(deleted(61), RUNS, removal=()),
    "evicted, and its quota not yet released": Case(deleted(), (*RUNS, "Evicted")),
    "with quota, deleted with --cascade=foreground": Case(
        deleted(1, FOREGROUND_DELETION, REDIS_CLEANUP_FINALIZER), RUNS, removal=(FOREGROUND_DELETION,)
    ),
    "another finalizer only": Case(deleted(1, OTHER), RUNS, stopped=True),
    "not deleted": Case(
        stored(ray_cluster("notebook"), finalizers=[REDIS_CLEANUP_FINALIZER]), (), stopped=True
    ),
    "of a RayJob with quota": Case(of_job(), RUNS, job=WAITS),
    "of a RayJob with quota, after a minute": Case(of_job(61), RUNS, job=WAITS, removal=()),
    "of a RayJob without quota": Case(of_job(), (), job=WAITS, removal=()),
    "of a finished RayJob": Case(of_job(), (*RUNS, "Finished"), job=WAITS, finalizers=(RESOURCE_IN_USE,)),
    "of a finished RayJob that has released its quota": Case(
        of_job(), (*RUNS, "Finished"), job=WAITS, removal=()
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_clean_up_ends_with_the_quota_of_its_gang(name: str) -> None:
    case = CASES[name]
    job_body = ray_job("dev") if case.job else ray_cluster("notebook")
    body = workload_body(job_body, *case.conditions, finalizers=list(case.finalizers))
    objects: dict[Kind[Any], list[Body]] = {
        kinds.RAY_CLUSTERS: [case.ray_cluster],
        kinds.RAY_JOBS: [case.job] if case.job else [],
        kinds.WORKLOADS: [body],
    }
    cluster = make_cluster(objects)
    (workload,) = cluster.workloads.values()
    planned = list(finalizer_removals(workload, cluster, NOW_MS))
    assert [p.write.body for p in planned if isinstance(p.write, MergePatch)] == (
        [] if case.removal is None else [{"metadata": {"finalizers": list(case.removal)}}]
    )
    assert [event.reason for p in planned for event in p.events] == ["RedisNotCleanedUp"] * len(planned)
    job = cluster.job_of(workload)
    assert is_stopped(workload, job, cluster) is case.stopped


@pytest.mark.parametrize(
    ("ray_cluster", "removed"),
    [
        pytest.param(deleted(), True, id="created by a user"),
        pytest.param(of_service(), True, id="of a RayService that was deleted"),
        pytest.param(deleted(labels={}), False, id="outside of all queues"),
        pytest.param(deleted(1, OTHER), False, id="another finalizer only"),
    ],
)
def test_the_clean_up_ends_without_a_workload(ray_cluster: Body, removed: bool) -> None:
    cluster = make_cluster({kinds.RAY_CLUSTERS: [ray_cluster]})
    subjects = [planned.subject for planned in reconcile(cluster, NOW_MS).writes.stops]
    assert subjects == ([f"{ray_cluster['metadata']['uid']}/finalizers"] if removed else [])


def test_the_clean_up_of_another_workload_does_not_end() -> None:
    """Only the pass that finds no Workload of the gang ends it."""
    workload = workload_body(notebook(), *RUNS)
    objects: dict[Kind[Any], list[Body]] = {kinds.RAY_CLUSTERS: [deleted()], kinds.WORKLOADS: [workload]}
    assert list(finalizer_removals_without_workload(make_cluster(objects))) == []


@pytest.mark.parametrize(
    ("conditions", "fault_tolerant", "removed"),
    [
        pytest.param((), True, True, id="waits again"),
        pytest.param((*RUNS, "Evicted"), True, False, id="holds its quota until its pods are deleted"),
        pytest.param((), False, False, id="has no clean-up"),
    ],
)
def test_a_suspended_head_loses_the_label_of_its_admission(
    conditions: tuple[str, ...], fault_tolerant: bool, removed: bool
) -> None:
    body = ray_service("llm")
    admitted = child("llm", suspend=True, rests=True)
    head = admitted["spec"]["headGroupSpec"]
    head["template"] = {**head["template"], "metadata": {"labels": {WORKLOAD_UID_LABEL: "uid-before"}}}
    if fault_tolerant:
        admitted["spec"]["gcsFaultToleranceOptions"] = {}
    objects: dict[Kind[Any], list[Body]] = {
        kinds.RAY_SERVICES: [stored(body)],
        kinds.RAY_CLUSTERS: [admitted],
        kinds.WORKLOADS: [workload_body(body, *conditions)],
    }
    cluster = make_cluster(objects)
    (workload,) = cluster.workloads.values()
    resets = [planned.write for planned in label_removals(workload, cluster)]
    label = "/spec/headGroupSpec/template/metadata/labels/muster.dev~1workload-uid"
    removals = [write.operations for write in resets if isinstance(write, JsonPatch)]
    assert removals == ([({"op": "remove", "path": label},)] if removed else [])


@pytest.mark.parametrize(
    ("ray_cluster", "node_type", "overdue", "suspended"),
    [
        pytest.param(deleted(), "redis-cleanup", False, False, id="may end"),
        pytest.param(deleted(), "redis-cleanup", True, True, id="overdue"),
        pytest.param(deleted(), "worker", False, True, id="another Job"),
        pytest.param(deleted(1, OTHER), "redis-cleanup", False, True, id="labelled so by a user"),
    ],
)
def test_the_clean_up_is_not_suspended_with_its_gang(
    ray_cluster: Body, node_type: str, overdue: bool, suspended: bool
) -> None:
    body = workload_body(notebook(), *RUNS)
    owner = controlled_by(kinds.BATCH_JOBS, "cleanup")
    created = pod(body["metadata"]["uid"], "cleanup", ownerReferences=[owner])
    created["metadata"]["labels"]["ray.io/node-type"] = node_type
    objects: dict[Kind[Any], list[Body]] = {
        kinds.RAY_CLUSTERS: [ray_cluster],
        kinds.WORKLOADS: [body],
        kinds.PODS: [created],
    }
    cluster = make_cluster(objects)
    (workload,) = cluster.workloads.values()
    writes = [planned.write for planned in stop_dependents(workload, cluster, "why", overdue=overdue)]
    assert any(w.kind is kinds.BATCH_JOBS for w in writes if isinstance(w, Overwrite)) is suspended


def test_quota_is_released_when_a_clean_up_can_not_be_ended() -> None:
    """A tenant that updates the RayCluster in a loop keeps its finalizer, but not the quota."""
    at = rfc3339(NOW_MS - 61_000)
    body = workload_body(ray_cluster("notebook"), *RUNS)
    body["metadata"]["deletionTimestamp"] = at
    cluster = make_cluster({kinds.RAY_CLUSTERS: [deleted(61)], kinds.WORKLOADS: [body]})
    (workload,) = cluster.workloads.values()
    assert quota_may_be_released(workload, cluster.job_of(workload), cluster, NOW_MS)
