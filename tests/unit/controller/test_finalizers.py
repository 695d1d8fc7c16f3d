"""Which queues, flavors and checks are kept, and which may go."""

from typing import Any

import pytest

from muster.controller.finalizers import finalizers, guard_of
from muster.kube import kinds
from muster.kube.writes import MergePatch
from muster.objects.kueue import RESOURCE_IN_USE
from tests.simulation.manifests import CHECK, cluster_queue, flavor, provisioning, quotas, ray_job
from tests.unit.controller.builders import Body, make_world, pod, stored, workload_body

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
# objects -> what is written
CASES: dict[str, tuple[dict[Any, list[Body]], list[str]]] = {
    "a new queue": (
        queues(queue(**NEW)),
        [f"patch ClusterQueue team-a ['example.com/own', '{RESOURCE_IN_USE}']"],
    ),
    "one that is kept": (queues(queue(finalizers=[RESOURCE_IN_USE])), []),
    "one that goes, and is empty": (queues(queue(**GOES)), ["patch ClusterQueue team-a []"]),
    "one that goes, with a gang that waits": (
        queues(queue(**GOES), WORKLOADS=[workload_body(ray_job("dev"))]),
        ["patch ClusterQueue team-a []"],
    ),
    "one that goes, with a gang that runs": (queues(queue(**GOES), WORKLOADS=[HELD]), []),
    "one that goes, with a gang that has ended": (
        queues(queue(**GOES), WORKLOADS=[FINISHED]),
        ["patch ClusterQueue team-a []"],
    ),
    "one that goes, with pods of a gang that has ended": (
        queues(queue(**GOES), WORKLOADS=[FINISHED], PODS=[pod(FINISHED["metadata"]["uid"])]),
        [],
    ),
    "one that is gone for us already": (queues(queue(**{**GOES, "finalizers": ["example.com/own"]})), []),
    "a flavor that goes, and a queue names": (
        queues(queue(finalizers=[RESOURCE_IN_USE]), FLAVORS=[stored(flavor("l4"), **GOES)]),
        [],
    ),
    "a flavor that goes, and a gang runs on": (
        queues(WORKLOADS=[HELD], FLAVORS=[stored(flavor("l4"), **GOES)]),
        [],
    ),
    "a flavor that goes, and nobody names": (
        queues(FLAVORS=[stored(flavor("l4"), **GOES)]),
        ["patch ResourceFlavor l4 []"],
    ),
    "a check that goes, and a queue names": (
        queues(queue(check=True, finalizers=[RESOURCE_IN_USE]), CHECKS=[stored(CHECK_BODY, **GOES)]),
        [],
    ),
    "a check that goes, and nobody names": (
        queues(CHECKS=[stored(CHECK_BODY, **GOES)]),
        [f"patch AdmissionCheck {CHECK} []"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_finalizers(name: str) -> None:
    objects, wanted = CASES[name]
    written = [s.write for s in finalizers(make_world(objects))]
    assert all(isinstance(w, MergePatch) for w in written)
    told = [f"{w} {list(w.body['metadata']['finalizers'])}" for w in written]  # type: ignore[union-attr]
    assert told == wanted


def test_nothing_of_a_queue_is_reserved_before_it_is_kept() -> None:
    (step,) = finalizers(make_world(queues(queue(**NEW))))
    assert (step.guards, step.late) == (frozenset({guard_of("team-a")}), False)
