"""Pods that KubeRay created twice or does not find are deleted, down to the admitted number."""

from typing import Any

import pytest

from muster.controller.gangs.duplicate_pods import deletions
from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.kube.writes import Delete
from muster.objects.meta import rfc3339
from muster.objects.ray import CLUSTER_LABEL, GROUP_LABEL, HEAD_TYPE, NODE_TYPE_LABEL
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import NOW_MS, Body, controlled_by, make_cluster, pod, read, workload_body
from tests.unit.controller.passes.pass_cases import DEV, dev

OF_CLUSTER = {CLUSTER_LABEL: "dev-raycluster"}
HEAD = {**OF_CLUSTER, GROUP_LABEL: "headgroup", NODE_TYPE_LABEL: HEAD_TYPE}
WORKER = {**OF_CLUSTER, GROUP_LABEL: "gpu", NODE_TYPE_LABEL: "worker"}
OTHER, SUBMITTER = controlled_by(kinds.RAY_CLUSTERS, "other"), controlled_by(kinds.BATCH_JOBS, "dev")
FOREIGN = {**OTHER, "apiVersion": "v1", "kind": "ConfigMap"}
ADMITTED = ("QuotaReserved", "Admitted")


def aged_pod(name: str, labels: dict[str, str], age_s: int = 60, phase: str = "Running", **meta: Any) -> Body:
    body = pod(f"uid-{DEV}", name, phase, creationTimestamp=rfc3339(NOW_MS - age_s * 1000), **meta)
    body["metadata"]["labels"] = {**body["metadata"]["labels"], **labels}
    return body


def first_set() -> list[Body]:
    """Returns a head and four workers, as admitted."""
    return [aged_pod("head", HEAD), *(aged_pod(f"gpu-{n}", WORKER) for n in range(4))]


TWICE = [aged_pod("head-2", HEAD, 20), *(aged_pod(f"a-gpu-{n}", WORKER, 20) for n in range(4))]
LEAVING = {"deletionTimestamp": rfc3339(NOW_MS)}
CASES: dict[str, tuple[list[Body], list[str]]] = {
    "as many as admitted": ([], []),
    "all of them twice": (TWICE, ["a-gpu-0", "a-gpu-1", "a-gpu-2", "a-gpu-3", "head-2"]),
    "one worker more": ([aged_pod("a-gpu", WORKER, 20)], ["a-gpu"]),
    "a terminating pod": ([aged_pod("a-gpu", WORKER, 20, **LEAVING)], []),
    "a terminated pod": ([aged_pod("a-gpu", WORKER, 20, "Failed")], []),
    "one of another RayCluster": (
        [aged_pod("a-gpu", {**WORKER, CLUSTER_LABEL: "other"}, 20, ownerReferences=[OTHER])],
        [],
    ),
    "a submitter": ([aged_pod("dev", WORKER, 20, ownerReferences=[SUBMITTER])], []),
    "a group that was not admitted": ([aged_pod("x", {**WORKER, GROUP_LABEL: "x"}, 20)], ["x"]),
    "an older one without an owner": ([aged_pod("lost", WORKER, 90, ownerReferences=[])], ["lost"]),
    "an older one of a ConfigMap": ([aged_pod("lost", WORKER, 90, ownerReferences=[FOREIGN])], ["lost"]),
    "an older one without the label of its cluster": (
        [aged_pod("lost", {**WORKER, CLUSTER_LABEL: ""}, 90)],
        ["lost"],
    ),
    "an older one of another cluster's label": (
        [aged_pod("lost", {**WORKER, CLUSTER_LABEL: "x"}, 90)],
        ["lost"],
    ),
    "an older one without its group": ([aged_pod("lost", {**OF_CLUSTER, GROUP_LABEL: ""}, 90)], ["lost"]),
    "one without an owner that is ending": (
        [aged_pod("lost", WORKER, 90, ownerReferences=[], **LEAVING)],
        [],
    ),
}


def deleted(pods: list[Body], *conditions: str) -> list[str]:
    workload = workload_body(ray_job("dev"), *conditions)
    objects: dict[Kind[Any], list[Body]] = {
        kinds.RAY_JOBS: [dev("Running", suspend=False)],
        kinds.WORKLOADS: [workload],
        kinds.PODS: pods,
    }
    writes = list(deletions(read(kinds.WORKLOADS, workload), make_cluster(objects)))
    assert all(isinstance(s.write, Delete) for s in writes)
    assert sum(len(s.events) for s in writes) == bool(writes)
    return sorted(s.write.key.removeprefix("team-a/") for s in writes)


@pytest.mark.parametrize("name", CASES)
def test_the_newest_pods_beyond_the_admitted_number_are_deleted(name: str) -> None:
    more, expected = CASES[name]
    assert deleted([*more, *first_set()], *ADMITTED) == expected


@pytest.mark.parametrize("conditions", [("QuotaReserved",), (*ADMITTED, "Evicted")], ids=str)
def test_a_gang_that_must_stop_is_stopped_as_a_whole(conditions: tuple[str, ...]) -> None:
    assert deleted([*TWICE, *first_set()], *conditions) == []
