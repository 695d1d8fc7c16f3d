"""An admitted job is suspended while its operator would run more pods than its quota is for."""

from typing import Any

import pytest

from muster.controller.gangs.stops import pauses
from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.kube.writes import Overwrite
from muster.objects.meta import rfc3339
from muster.objects.ray import CLUSTER_LABEL, GROUP_LABEL
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import NOW_MS, Body, controlled_by, make_cluster, pod, read, workload_body
from tests.unit.controller.passes.pass_cases import DEV, dev

ADMITTED = ("QuotaReserved", "Admitted")


def workers(count: int, of_cluster: str = "first", **meta: Any) -> list[Body]:
    """Returns workers of a RayCluster; four are admitted."""
    pods = [pod(f"uid-{DEV}", f"{of_cluster}-{number}", "Running", **meta) for number in range(count)]
    for body in pods:
        body["metadata"]["labels"] |= {CLUSTER_LABEL: of_cluster, GROUP_LABEL: "gpu"}
        body["metadata"]["ownerReferences"] = [
            {**controlled_by(kinds.RAY_CLUSTERS, of_cluster), "name": of_cluster}
        ]
    return pods


def replaced(of_cluster: str, created_s: int, count: int = 4) -> list[Body]:
    """Returns terminating workers that were created this long ago, and deleted 5 s later with a grace period
    of 300 s."""
    return workers(
        count,
        of_cluster,
        creationTimestamp=rfc3339(NOW_MS - created_s * 1000),
        deletionTimestamp=rfc3339(NOW_MS - (created_s - 5 - 300) * 1000),
        deletionGracePeriodSeconds=300,
    )


FIRST, SECOND, THIRD = replaced("first", 30), replaced("second", 20), workers(4, "third")
CASES: dict[str, tuple[Body, list[Body], bool]] = {
    "it runs": (dev("Running", suspend=False), workers(4), False),
    "it retries, and its pods terminate": (dev("Retrying", suspend=False), FIRST, True),
    "it retries, and its pods have ended": (dev("Retrying", suspend=False), [], False),
    "it is suspended already": (dev("Retrying", suspend=True), FIRST, False),
    "its pods were replaced once": (dev("Running", suspend=False), [*FIRST, *THIRD], False),
    "it shrank": (dev("Running", suspend=False), [*replaced("first", 30, count=16), *workers(4)], False),
    "its pods were replaced twice": (dev("Running", suspend=False), [*FIRST, *SECOND, *THIRD], True),
}


@pytest.mark.parametrize("name", CASES)
def test_a_job_is_paused_while_pods_are_replaced(name: str) -> None:
    job, pods, is_paused = CASES[name]
    writes = paused(job, pods, *ADMITTED)
    assert [w for w in writes if isinstance(w, Overwrite) and w.body == {"spec": {"suspend": True}}] == writes
    assert bool(writes) is is_paused


@pytest.mark.parametrize("conditions", [("QuotaReserved",), (*ADMITTED, "Evicted")], ids=str)
def test_a_gang_that_must_stop_is_not_paused(conditions: tuple[str, ...]) -> None:
    assert paused(dev("Retrying", suspend=False), FIRST, *conditions) == []


def paused(job: Body, pods: list[Body], *conditions: str) -> list[Any]:
    workload = workload_body(ray_job("dev"), *conditions)
    objects: dict[Kind[Any], list[Body]] = {
        kinds.RAY_JOBS: [job],
        kinds.WORKLOADS: [workload],
        kinds.PODS: pods,
    }
    return [planned.write for planned in pauses(read(kinds.WORKLOADS, workload), make_cluster(objects))]
