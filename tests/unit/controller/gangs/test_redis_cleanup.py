"""The end of KubeRay's Redis clean-up: with quota it runs, up to a minute; without quota it does not."""

from typing import Any, NamedTuple

import pytest

from muster.controller.gangs.redis_cleanup import finalizer_removals
from muster.controller.gangs.suspension import is_stopped, quota_may_be_released
from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.kube.writes import MergePatch
from muster.objects.meta import rfc3339
from muster.objects.ray import ORIGIN_LABEL, REDIS_CLEANUP_FINALIZER
from tests.simulation.manifests import ray_cluster, ray_job
from tests.unit.controller.builders import (
    NOW_MS,
    Body,
    controlled_by,
    make_cluster,
    stored,
    workload_body,
)

RUNS = ("QuotaReserved", "Admitted")
OTHER = "tenant.example/mine"


def deleted(seconds_ago: int = 1, *finalizers: str, **meta: Any) -> Body:
    """Returns a RayCluster that is being deleted, by default kept by KubeRay's clean-up."""
    at = rfc3339(NOW_MS - seconds_ago * 1000)
    kept = list(finalizers or (REDIS_CLEANUP_FINALIZER,))
    return stored(ray_cluster("notebook"), deletionTimestamp=at, finalizers=kept, **meta)


def of_job(seconds_ago: int = 1) -> Body:
    owner = controlled_by(kinds.RAY_JOBS, "dev")
    return deleted(seconds_ago, ownerReferences=[owner], labels={ORIGIN_LABEL: "RayJob"})


class Case(NamedTuple):
    """A RayCluster, its job if that is another object, and what follows."""

    ray_cluster: Body
    conditions: tuple[str, ...]
    job: Body | None = None
    removal: tuple[str, ...] | None = None  # the finalizers that stay
    stopped: bool = False


WAITS = stored(ray_job("dev"))
CASES = {
    "never admitted": Case(deleted(), (), removal=()),
    "another finalizer stays": Case(deleted(1, OTHER, REDIS_CLEANUP_FINALIZER), (), removal=(OTHER,)),
    "with quota": Case(deleted(), RUNS),
    "with quota, after a minute": Case(deleted(61), RUNS, removal=()),
    "evicted, and its quota not yet released": Case(deleted(), (*RUNS, "Evicted")),
    "another finalizer only": Case(deleted(1, OTHER), RUNS, stopped=True),
    "not deleted": Case(
        stored(ray_cluster("notebook"), finalizers=[REDIS_CLEANUP_FINALIZER]), (), stopped=True
    ),
    "of a RayJob with quota": Case(of_job(), RUNS, job=WAITS),
    "of a RayJob with quota, after a minute": Case(of_job(61), RUNS, job=WAITS, removal=()),
    "of a RayJob without quota": Case(of_job(), (), job=WAITS, removal=()),
}


@pytest.mark.parametrize("name", CASES)
def test_the_clean_up_ends_with_the_quota_of_its_gang(name: str) -> None:
    case = CASES[name]
    body = workload_body(ray_job("dev") if case.job else ray_cluster("notebook"), *case.conditions)
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


def test_quota_is_released_when_a_clean_up_can_not_be_ended() -> None:
    """A tenant that updates the RayCluster in a loop keeps its finalizer, but not the quota."""
    at = rfc3339(NOW_MS - 61_000)
    body = workload_body(ray_cluster("notebook"), *RUNS)
    body["metadata"]["deletionTimestamp"] = at
    cluster = make_cluster({kinds.RAY_CLUSTERS: [deleted(61)], kinds.WORKLOADS: [body]})
    (workload,) = cluster.workloads.values()
    assert quota_may_be_released(workload, cluster.job_of(workload), cluster, NOW_MS)
