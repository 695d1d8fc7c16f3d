"""Limits, gates and deletions of gangs that Ray's autoscaler scales."""

from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

import pytest

from muster.cluster.budget_usage import leaving
from muster.cluster.cluster_state import ClusterState
from muster.cluster.elasticity import asked_pods, elastic_pod_sets, running_counts
from muster.cluster.jobs.scaling import REPLICAS_MAX, GroupSizes, stored_sizes
from muster.configuration.configuration import NOTICE_MS
from muster.controller.gangs.elastic_gangs import caps_at_start, elastic_writes
from muster.controller.workload.surplus import REMOVAL_MS
from muster.kube import kinds
from muster.kube.writes import Delete, JsonPatch, MergePatch
from muster.objects.meta import rfc3339
from muster.objects.names import BUDGETS, GROWTH_GATE, SHRINKS_ANNOTATION, SIZES_ANNOTATION
from muster.objects.ray import GROUP_LABEL, ORIGIN_LABEL
from muster.translation.elastic import ElasticPodSet
from muster.translation.recorded_usage import Leaving
from tests.simulation.manifests import GPU, cluster_queue, quotas, ray_cluster, ray_cluster_spec, ray_job
from tests.unit.controller.builders import (
    NOW_MS,
    Body,
    condition,
    controlled_by,
    make_cluster,
    pod,
    stored,
    workload_body,
)

KEY = "team-a/rayjob-dev-0b2fb"
CLUSTER = "dev-raycluster"


def scaled(replicas: int, most: int, least: int = 2, hosts: int = 1) -> Body:
    group = {**ray_cluster_spec(replicas)["workerGroupSpecs"][0], "minReplicas": least, "maxReplicas": most}
    spec = {**ray_cluster_spec(0), "enableInTreeAutoscaling": True}
    return {**spec, "workerGroupSpecs": [{**group, "numOfHosts": hosts}]}


@dataclass
class World:
    """An admitted RayJob from two to eight workers, with `granted` of them, and its RayCluster. The first
    `disowned` of its `open` pods have lost their owner."""

    granted: int = 2
    replicas: int = 2
    cap: int = 2
    open: int = 2
    disowned: int = 0
    gated: int = 0
    hosts: int = 1
    shrinking_ms: int | None = None
    because: str = "Preempted"
    announced_ms: int | None = None
    created: bool = True
    budget: bool = False
    more: dict[str, Any] = field(default_factory=dict)

    def cluster(self) -> ClusterState:
        manifest = ray_job("dev", rayClusterSpec=scaled(3, 8, hosts=self.hosts), suspend=False)
        workload = workload_body(manifest, "QuotaReserved", "Admitted")
        for assigned in workload["status"]["admission"]["podSetAssignments"]:
            if assigned["name"] == "gpu":
                assigned["count"] = self.granted
        if self.shrinking_ms is not None:
            shrinking = condition("Shrinking", reason=self.because)
            shrinking["lastTransitionTime"] = rfc3339(NOW_MS - self.shrinking_ms)
            workload["status"]["conditions"].append(shrinking)
        child = ray_cluster(CLUSTER)
        child["spec"] = {**scaled(self.replicas, self.cap, hosts=self.hosts), "suspend": False}
        meta = {"ownerReferences": [controlled_by(kinds.RAY_JOBS, "dev")], "labels": {ORIGIN_LABEL: "RayJob"}}
        workers = [self._worker(n, gated=n >= self.open) for n in range(self.open + self.gated)]
        head = pod(f"uid-{KEY.partition('/')[2]}", "head")
        head["metadata"]["labels"]["ray.io/node-type"] = "head"
        if self.announced_ms is not None:
            head["metadata"]["annotations"] = {SHRINKS_ANNOTATION: rfc3339(NOW_MS + self.announced_ms)}
        queue = cluster_queue("team-a", quotas("l4", cpu=64, memory="64Gi", gpu=8))
        budgets = '[{"resource":"nvidia.com/gpu","hours":1,"period":"day"}]'
        annotations = {BUDGETS: budgets} if self.budget else {}
        return make_cluster(
            {
                kinds.CLUSTER_QUEUES: [stored(queue, annotations=annotations)],
                kinds.RAY_JOBS: [stored(manifest)],
                kinds.RAY_CLUSTERS: [stored(child, **meta)] if self.created else [],
                kinds.WORKLOADS: [workload],
                kinds.PODS: [head, *workers],
            }
        )

    def _worker(self, number: int, *, gated: bool) -> Body:
        body = pod(f"uid-{KEY.partition('/')[2]}", f"worker-{number}", "Pending" if gated else "Running")
        body["spec"] = {"schedulingGates": [{"name": GROWTH_GATE}]} if gated else {}
        assert body["metadata"]["labels"][GROUP_LABEL] == "gpu"
        if number < self.disowned:
            body["metadata"]["ownerReferences"] = []
        return body

    def writes(self, offer: int = 0, notice_ms: int = NOTICE_MS) -> list[str]:
        cluster = self.cluster()
        planned = elastic_writes(cluster.workloads[KEY], cluster, {"gpu": offer}, NOW_MS, notice_ms)
        return [described(p.write) for p in planned if not is_announcement(p.write)]

    def announcements(self) -> list[str | None]:
        """Returns the deadlines that are written to heads, None for a removal."""
        cluster = self.cluster()
        planned = elastic_writes(cluster.workloads[KEY], cluster, {"gpu": 0}, NOW_MS, NOTICE_MS)
        patches = [p.write for p in planned if is_announcement(p.write)]
        assert all(patch.key == "team-a/head" for patch in patches)
        return [patch.body["metadata"]["annotations"][SHRINKS_ANNOTATION] for patch in patches]


def is_announcement(write: object) -> TypeGuard[MergePatch]:
    return isinstance(write, MergePatch) and "metadata" in write.body


def described(write: object) -> str:
    if isinstance(write, MergePatch):
        assert (write.kind, write.body) == (kinds.PODS, {"spec": {"schedulingGates": None}})
        return f"open {write.key.rpartition('/')[2]}"
    if isinstance(write, JsonPatch):
        (operation,) = write.operations
        assert operation["path"] == "/spec/workerGroupSpecs/0/maxReplicas"
        return f"limit {operation['value']}"
    assert isinstance(write, Delete)
    return f"delete {write.key.rpartition('/')[2]}"


LEAVING: dict[str, tuple[World, Leaving]] = {
    "all hold quota": (World(open=2, budget=True), {}),
    "two terminate": (World(open=4, budget=True), {"l4": {GPU: 2}}),
    "none holds quota": (World(granted=0, open=1, budget=True), {"l4": {GPU: 1}}),
    "gated pods use nothing": (World(gated=2, budget=True), {}),
    "no budget": (World(open=4), {}),
}


@pytest.mark.parametrize(("world", "expected"), LEAVING.values(), ids=LEAVING)
def test_pods_beyond_the_quota_use_units_of_budgets(world: World, expected: Leaving) -> None:
    cluster = world.cluster()
    workload = cluster.workloads[KEY]
    assert leaving(workload, workload.status, cluster) == expected


AFTER_NOTICE, OVERDUE = NOTICE_MS, NOTICE_MS + REMOVAL_MS


@pytest.mark.parametrize(
    ("world", "offer", "expected"),
    [
        pytest.param(World(), 0, [], id="at its minimum, and nothing is free"),
        pytest.param(World(), 3, ["limit 5"], id="may grow by what is free"),
        pytest.param(World(), 30, ["limit 8"], id="may grow to the user's own limit"),
        pytest.param(World(cap=4), 3, [], id="has room: not changed with every admission"),
        pytest.param(World(cap=5), 1, ["limit 3"], id="less is free than before"),
        pytest.param(World(cap=3, replicas=3, gated=1), 1, [], id="a pod waits until its quota is granted"),
        pytest.param(World(granted=3, cap=3, replicas=3, gated=1), 0, ["open worker-2"], id="has its quota"),
        pytest.param(World(granted=3, cap=4, replicas=4, gated=2), 1, ["open worker-2"], id="one of two"),
        pytest.param(
            World(granted=3, cap=3, replicas=3, open=3, disowned=2, gated=2),
            0,
            [],
            id="pods without an owner still run",
        ),
        pytest.param(World(granted=4, cap=2), 0, ["limit 4"], id="quota that was granted"),
        pytest.param(World(granted=2, cap=4, open=4, shrinking_ms=0), 0, [], id="notice"),
        pytest.param(World(granted=2, cap=6, open=4, shrinking_ms=0), 0, ["limit 4"], id="no more in notice"),
        pytest.param(
            World(granted=2, cap=4, open=4, shrinking_ms=AFTER_NOTICE), 0, ["limit 2"], id="after its notice"
        ),
        pytest.param(
            World(granted=3, cap=4, open=4, shrinking_ms=AFTER_NOTICE),
            5,
            ["limit 3"],
            id="after its notice, and the preemptor waits for more than is free",
        ),
        pytest.param(
            World(granted=2, cap=2, open=4, shrinking_ms=OVERDUE),
            0,
            ["delete worker-2", "delete worker-3"],
            id="the autoscaler did not remove them",
        ),
        pytest.param(World(granted=4, cap=1, open=4, hosts=2), 0, ["limit 2"], id="in replicas of two hosts"),
    ],
)
def test_writes_of_an_elastic_gang(world: World, offer: int, expected: list[str]) -> None:
    assert world.writes(offer) == expected


@pytest.mark.parametrize(
    ("notice_ms", "elapsed_ms", "expected"),
    [
        pytest.param(0, 0, ["limit 2"], id="no notice"),
        pytest.param(90_000, 89_000, [], id="in a longer notice"),
        pytest.param(90_000, 90_000, ["limit 2"], id="after it"),
        pytest.param(
            5_000, 5_000 + REMOVAL_MS, ["limit 2", "delete worker-2", "delete worker-3"], id="a shorter one"
        ),
    ],
)
def test_notice_is_configured(notice_ms: int, elapsed_ms: int, expected: list[str]) -> None:
    world = World(granted=2, cap=4, open=4, shrinking_ms=elapsed_ms)
    assert world.writes(notice_ms=notice_ms) == expected


PREEMPTED = World(granted=2, cap=4, open=4, shrinking_ms=10_000)
DEADLINE_MS = NOTICE_MS - 10_000
ANNOUNCED: dict[str, tuple[World, list[str | None]]] = {
    "preempted": (PREEMPTED, [rfc3339(NOW_MS + DEADLINE_MS)]),
    "preempted, announced": (replace(PREEMPTED, announced_ms=DEADLINE_MS), []),
    "preempted again, later": (replace(PREEMPTED, announced_ms=-90_000), [rfc3339(NOW_MS + DEADLINE_MS)]),
    "after the deadline": (replace(PREEMPTED, shrinking_ms=40_000, announced_ms=NOTICE_MS - 40_000), []),
    "shrunk": (World(announced_ms=-5_000), [None]),
    "scaled down by the autoscaler": (replace(PREEMPTED, because="ScaledDown"), []),
    "at its size": (World(), []),
}


@pytest.mark.parametrize("name", ANNOUNCED)
def test_the_head_is_told_when_workers_go(name: str) -> None:
    world, expected = ANNOUNCED[name]
    assert world.announcements() == expected


def test_a_gang_of_a_fixed_size_is_left_alone() -> None:
    cluster = make_cluster({kinds.WORKLOADS: [workload_body(ray_job("dev"), "QuotaReserved", "Admitted")]})
    assert list(elastic_writes(cluster.workloads[KEY], cluster, {}, NOW_MS, NOTICE_MS)) == []


@pytest.mark.parametrize("text", ["", "no", "[]", '{"gpu": 3}', '{"gpu": {"numOfHosts": 0}}'])
def test_unreadable_sizes_are_those_of_a_fixed_gang(text: str) -> None:
    body = workload_body(ray_job("dev"), "QuotaReserved", "Admitted", annotations={SIZES_ANNOTATION: text})
    cluster = make_cluster({kinds.WORKLOADS: [body]})
    assert stored_sizes(cluster.workloads[KEY]) == {}


def test_a_start_limits_the_groups_to_their_quota() -> None:
    assert caps_at_start(World(granted=4).cluster().workloads[KEY]) == {"gpu": 4}
    assert caps_at_start(World(granted=4, hosts=2).cluster().workloads[KEY]) == {"gpu": 2}


@pytest.mark.parametrize(
    ("world", "asked"),
    [
        pytest.param(World(created=False), 3, id="by its manifest before it starts"),
        pytest.param(World(replicas=5, cap=6), 5, id="by its RayCluster"),
        pytest.param(World(replicas=0), 2, id="never less than its minimum"),
        pytest.param(World(replicas=500), 8, id="never more than the user's limit"),
        pytest.param(World(replicas=3, hosts=2), 6, id="in pods"),
    ],
)
def test_a_gang_asks_for_replicas(world: World, asked: int) -> None:
    cluster = world.cluster()
    assert asked_pods(cluster.workloads[KEY], cluster) == {"gpu": asked}


def test_pods_whose_gate_is_closed_use_nothing() -> None:
    cluster = World(open=3, gated=2).cluster()
    workload = cluster.workloads[KEY]
    assert running_counts(workload, cluster) == {"head": 1, "gpu": 3}
    assert elastic_pod_sets(workload, workload.status, cluster, NOW_MS) == {"gpu": ElasticPodSet(2, 1, 2, 3)}


def test_pods_without_an_owner_use_quota() -> None:
    """A preemptor waits for them as well."""
    cluster = World(open=4, disowned=3).cluster()
    workload = cluster.workloads[KEY]
    assert running_counts(workload, cluster) == {"head": 1, "gpu": 4}


@pytest.mark.parametrize(
    ("sizes", "replicas", "pods"),
    [
        (GroupSizes(min_replicas=1, max_replicas=4), 9, 4),
        (GroupSizes(min_replicas=3, max_replicas=4), 0, 3),
        (GroupSizes(max_replicas=REPLICAS_MAX, num_of_hosts=4), REPLICAS_MAX, 5000),
    ],
)
def test_replicas_are_limited(sizes: GroupSizes, replicas: int, pods: int) -> None:
    assert sizes.asked(replicas) == pods
