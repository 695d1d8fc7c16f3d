"""Finalizers of queues, flavors and checks: added, kept and removed."""

from typing import Any

import pytest

from muster.controller.passes.finalizers import finalizer_of, finalizers
from muster.kube import kinds
from muster.kube.writes import MergePatch
from muster.objects.names import RESOURCE_IN_USE
from tests.simulation.manifests import CHECK, cluster_queue, flavor, provisioning, quotas, ray_job
from tests.unit.controller.builders import Body, make_cluster, pod, stored, workload_body

RUNS = ("QuotaReserved", "Admitted")
NEW: dict[str, Any] = {"finalizers": ["example.com/own"]}
GOES: dict[str, Any] = {"finalizers": [RESOURCE_IN_USE], "deletionTimestamp": "2027-01-15T08:00:00Z"}
FINISHED = workload_body(ray_job("dev"), *RUNS, "Finished", finalizers=[])


def queue(name: str = "team-a", check: bool = False, **meta: Any) -> Body:
    return stored(cluster_queue(name, quotas("l4", cpu=1), check=check), **meta)


def queues(*bodies: Body, **more: Any) -> dict[Any, list[Body]]:
    return {kinds.CLUSTER_QUEUES: list(bodies), **{getattr(kinds, k): v for k, v in more.items()}}


(CHECK_BODY,) = provisioning()[kinds.CHECKS]
HELD = workload_body(ray_job("dev"), *RUNS)
# objects -> writes
CASES: dict[str, tuple[dict[Any, list[Body]], list[str]]] = {
    "a new queue": (
        queues(queue(**NEW)),
        [f"patch ClusterQueue team-a ['example.com/own', '{RESOURCE_IN_USE}']"],
    ),
    "a queue with the finalizer": (queues(queue(finalizers=[RESOURCE_IN_USE])), []),
    "a deleted queue without gangs": (queues(queue(**GOES)), ["patch ClusterQueue team-a []"]),
    "a deleted queue with a pending gang": (
        queues(queue(**GOES), WORKLOADS=[workload_body(ray_job("dev"))]),
        ["patch ClusterQueue team-a []"],
    ),
    "a deleted queue with a running gang": (queues(queue(**GOES), WORKLOADS=[HELD]), []),
    "a deleted queue with an ended gang": (
        queues(queue(**GOES), WORKLOADS=[FINISHED]),
        ["patch ClusterQueue team-a []"],
    ),
    "a deleted queue with pods of an ended gang": (
        queues(queue(**GOES), WORKLOADS=[FINISHED], PODS=[pod(FINISHED["metadata"]["uid"])]),
        [],
    ),
    "a deleted queue with another finalizer only": (
        queues(queue(**{**GOES, "finalizers": ["example.com/own"]})),
        [],
    ),
    "a deleted flavor that a queue names": (
        queues(queue(finalizers=[RESOURCE_IN_USE]), FLAVORS=[stored(flavor("l4"), **GOES)]),
        [],
    ),
    "a deleted flavor that a gang runs on": (
        queues(WORKLOADS=[HELD], FLAVORS=[stored(flavor("l4"), **GOES)]),
        [],
    ),
    "an unused deleted flavor": (
        queues(FLAVORS=[stored(flavor("l4"), **GOES)]),
        ["patch ResourceFlavor l4 []"],
    ),
    "a deleted check that a queue names": (
        queues(queue(check=True, finalizers=[RESOURCE_IN_USE]), CHECKS=[stored(CHECK_BODY, **GOES)]),
        [],
    ),
    "an unused deleted check": (
        queues(CHECKS=[stored(CHECK_BODY, **GOES)]),
        [f"patch AdmissionCheck {CHECK} []"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_finalizers_follow_the_use_of_objects(name: str) -> None:
    objects, expected = CASES[name]
    written = [s.write for s in finalizers(make_cluster(objects))]
    assert all(isinstance(w, MergePatch) for w in written)
    written_finalizers = [f"{w} {list(w.body['metadata']['finalizers'])}" for w in written]  # type: ignore[union-attr]
    assert written_finalizers == expected


def test_no_quota_is_reserved_before_the_queue_has_its_finalizer() -> None:
    (step,) = finalizers(make_cluster(queues(queue(**NEW))))
    assert (step.provides, step.deferrable) == (frozenset({finalizer_of("team-a")}), False)
