"""Finished gangs whose pods still run: how long their quota counts, and when they are stopped."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from muster.admission import Shortfall, Waiting, WaitReason
from muster.cluster.cluster_state import ClusterState
from muster.controller.gangs.contended_quota import ContendedQuota
from muster.controller.gangs.finished_gangs import (
    contention_of,
    is_finished_with_quota,
    quota_release,
    stops_for_waiting,
)
from muster.controller.workload.suspension import SUSPENSION_MS_MAX
from muster.kube import kinds
from muster.kube.writes import Delete, MergePatch
from muster.objects.meta import rfc3339
from tests.simulation.manifests import GPU, cluster_queue, flavor, local_queue, quotas, ray_job
from tests.unit.controller.builders import NOW_MS, Body, make_cluster, pod, workload_body
from tests.unit.controller.passes.pass_cases import DEV, child, dev

KEY, UID = f"team-a/{DEV}", f"uid-{DEV}"
LATE_S = SUSPENSION_MS_MAX // 1000
L4 = quotas("cpu", cpu=8), quotas("l4", cpu=16, gpu=4)
LEAVING: dict[str, Any] = {"deletionTimestamp": rfc3339(NOW_MS)}


def ended(seconds_ago: int = 1, **meta: Any) -> Body:
    """Returns a finished gang that holds quota of team-a: heads cpu, workers l4."""
    body = workload_body(ray_job("dev"), "QuotaReserved", "Admitted", "Finished", **meta)
    for condition in body["status"]["conditions"]:
        if condition["type"] == "Finished":
            condition["lastTransitionTime"] = rfc3339(NOW_MS - seconds_ago * 1000)
    return body


def leaving(cluster: Body) -> Body:
    cluster["metadata"] |= LEAVING
    return cluster


def cluster(
    finished: Body,
    *clusters: Body,
    pods: bool = True,
    waits: str = "team-a",
    placed: str = "",
    cohort: str = "",
) -> ClusterState:
    """`waits`: the ClusterQueue of the Workload that waits. `placed`: the flavor with a topology."""
    flavors = [flavor("cpu"), flavor("l4")]
    for entry in flavors:
        entry["spec"]["topologyName"] = "racks" if entry["metadata"]["name"] == placed else ""
    other = workload_body(ray_job("waits", queue="theirs"))
    return make_cluster(
        {
            kinds.RAY_JOBS: [dev("Complete", suspend=False)],
            kinds.RAY_CLUSTERS: list(clusters),
            kinds.WORKLOADS: [finished, other],
            kinds.PODS: [pod(UID)] if pods else [],
            kinds.FLAVORS: flavors,
            kinds.CLUSTER_QUEUES: [
                cluster_queue("team-a", *L4, cohort=cohort),
                cluster_queue("team-b", *L4, cohort=cohort),
            ],
            kinds.LOCAL_QUEUES: [local_queue("team-a", "team-a"), local_queue("team-a", waits, "theirs")],
        }
    )


def waiting(reason: WaitReason, resource: str = "", *others: str) -> Waiting:
    lacks = (Shortfall("l4", resource, 1, 1, 4, 4, 0, 4),) if resource else ()
    return Waiting(WAITS, reason, "waits", others=others, shortfalls=lacks)


WAITS = next(key for key in cluster(ended()).workloads if key != KEY)
FOR_GPUS = waiting(WaitReason.QUOTA, GPU)
FOR_NODES = waiting(WaitReason.TOPOLOGY)
SUSPENDED, DELETED = "patch dev-1", "delete pod"


@dataclass
class Case:
    """The writes for a finished gang while these wait; by default it has its RayCluster and a pod."""

    waits: list[Waiting] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    cluster: ClusterState = field(default_factory=lambda: cluster(ended(), child()))
    backing_off: frozenset[str] = frozenset()


CASES = {
    "no workload waits": Case(),
    "for its quota": Case([FOR_GPUS], [SUSPENDED]),
    "for a resource that it does not hold": Case([waiting(WaitReason.QUOTA, "memory")]),
    "for quota of another tree": Case([FOR_GPUS], cluster=cluster(ended(), child(), waits="team-b")),
    "for quota of its cohort": Case(
        [FOR_GPUS], [SUSPENDED], cluster(ended(), child(), waits="team-b", cohort="ml")
    ),
    "for more than there can ever be": Case([waiting(WaitReason.NEVER_FITS, GPU)]),
    "for it by name": Case([waiting(WaitReason.PREEMPTION, "", KEY)], [SUSPENDED]),
    "for another one by name": Case([waiting(WaitReason.PREEMPTION, "", "team-a/other")]),
    "for nodes, and it is on some of a topology": Case(
        [FOR_NODES], [SUSPENDED], cluster(ended(), child(), placed="l4")
    ),
    "for nodes, and it is on none": Case([FOR_NODES]),
    "its quota was released already": Case([], [SUSPENDED], cluster(ended(finalizers=[]), child())),
    "a write on it failed": Case([FOR_GPUS], backing_off=frozenset({"uid-dev-1"})),
    "it was suspended already": Case([FOR_GPUS], [], cluster(ended(), child(suspend=True))),
    "KubeRay is late": Case([FOR_GPUS], [SUSPENDED, DELETED], cluster(ended(LATE_S), child())),
    "KubeRay is almost late": Case([FOR_GPUS], [SUSPENDED], cluster(ended(LATE_S - 1), child())),
}


@pytest.mark.parametrize("name", CASES)
def test_a_finished_gang_is_stopped_if_others_wait_for_its_quota(name: str) -> None:
    case = CASES[name]
    finished = [w for w in case.cluster.workloads.values() if is_finished_with_quota(w, case.cluster)]
    contention = contention_of(case.waits, case.cluster)
    writes = list(stops_for_waiting(finished, contention, case.cluster, case.backing_off, NOW_MS))
    described = [
        f"{'delete' if isinstance(s.write, Delete) else 'patch'} {s.write.key.removeprefix('team-a/')}"
        for s in writes
    ]
    assert described == case.done


# the cluster, whether the quota is released
RELEASED: dict[str, tuple[ClusterState, bool]] = {
    "its pods are there": (cluster(ended(), child(suspend=True, rests=True)), False),
    "its RayCluster may create pods": (cluster(ended(), child(), pods=False), False),
    "its RayCluster may create pods, long after its end": (
        cluster(ended(LATE_S), child(), pods=False),
        False,
    ),
    "KubeRay has stopped it": (cluster(ended(), child(suspend=True, rests=True), pods=False), True),
    "KubeRay may not have observed the suspension": (
        cluster(ended(), child(suspend=True), pods=False),
        False,
    ),
    "KubeRay has had time to observe the suspension": (
        cluster(ended(LATE_S), child(suspend=True), pods=False),
        True,
    ),
    "its RayCluster is being deleted": (cluster(ended(), leaving(child()), pods=False), True),
    "its RayCluster is deleted": (cluster(ended(), pods=False), True),
    "the Workload is being deleted": (cluster(ended(**LEAVING), pods=False), False),
}


@pytest.mark.parametrize("name", RELEASED)
def test_quota_is_released_once_no_pod_exists_or_can_be_created(name: str) -> None:
    of, released = RELEASED[name]
    planned = quota_release(of.workloads[KEY], of, NOW_MS)
    assert (planned is not None) is released
    if planned is not None:
        assert planned.subject == KEY
        assert isinstance(planned.write, MergePatch)
        assert planned.write.body == {"metadata": {"finalizers": []}}
        tree = "ClusterQueue team-a"
        assert planned.provides >= {ContendedQuota(tree, "l4", GPU), ContendedQuota(tree, "cpu", "cpu")}


def test_other_finalizers_are_kept() -> None:
    mine = ended(finalizers=["tenant.example/mine", "kueue.x-k8s.io/resource-in-use"])
    of = cluster(mine, pods=False)
    planned = quota_release(of.workloads[KEY], of, NOW_MS)
    assert planned is not None
    assert isinstance(planned.write, MergePatch)
    assert planned.write.body == {"metadata": {"finalizers": ["tenant.example/mine"]}}
