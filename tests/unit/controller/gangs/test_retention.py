"""Finished Workloads and deactivated jobs are deleted once their retention has ended."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from muster.configuration.configuration import Configuration, Retention
from muster.controller.gangs.retention import deletions
from muster.controller.passes.reconcile import reconcile
from muster.controller.workload.facts import Facts
from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.kube.writes import Delete
from muster.objects.meta import rfc3339
from muster.objects.names import RESOURCE_IN_USE
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import (
    NOW_MS,
    Body,
    condition,
    make_cluster,
    pod,
    request,
    workload_body,
    workload_without_job,
)
from tests.unit.controller.passes.pass_cases import DEV, LEAVING, child, dev, kind_of

RUNS = ("QuotaReserved", "Admitted")
DAY = Retention(after_finished_s=86_400, after_deactivated_s=3_600)
WORKLOAD, JOB = [f"delete Workload team-a/{DEV} uid-{DEV}"], ["delete RayJob team-a/dev uid-dev"]


def since(body: Body, kind: str, seconds: int, **fields: Any) -> Body:
    """Returns the Workload with this condition True for so long."""
    conditions = [c for c in body["status"]["conditions"] if c["type"] != kind]
    new = {**condition(kind, **fields), "lastTransitionTime": rfc3339(NOW_MS - 1000 * seconds)}
    return {**body, "status": {**body["status"], "conditions": [*conditions, new]}}


def finished(seconds: int = 86_400, *true: str, **meta: Any) -> Body:
    return since(
        workload_body(ray_job("dev"), *(true or RUNS), **{"finalizers": [], **meta}), "Finished", seconds
    )


def deactivated(
    seconds: int = 3_600, *true: str, reason: str = "DeactivatedDueToAdmissionCheck", active: bool = False
) -> Body:
    body = workload_body(ray_job("dev"), *true, active=active)
    return since(body, "Evicted", seconds, reason=reason)


@dataclass
class Case:
    objects: Sequence[Body]
    deletions: list[str] = field(default_factory=list)
    until_ms: int | None = None
    retention: Retention = DAY


CASES = {
    "finished long ago": Case([dev("Complete"), finished()], WORKLOAD),
    "finished a moment less ago": Case([dev("Complete"), finished(86_399)], until_ms=NOW_MS + 1000),
    "finished, and kept forever": Case(
        [dev("Complete"), finished()], retention=Retention(after_deactivated_s=0)
    ),
    "finished, and not kept at all": Case(
        [dev("Complete"), finished(0)], WORKLOAD, retention=Retention(after_finished_s=0)
    ),
    "finished, by its creator": Case(
        [since(workload_without_job("batch", *RUNS), "Finished", 86_400)],
        ["delete Workload team-a/batch uid-batch"],
    ),
    "finished, its quota is not released yet": Case(
        [dev("Complete"), finished(finalizers=[RESOURCE_IN_USE])]
    ),
    "finished, a pod runs": Case([dev("Complete"), finished(), pod(f"uid-{DEV}")]),
    "finished without quota, a pod runs": Case(
        [dev("Complete"), finished(86_400, "Evicted"), pod(f"uid-{DEV}")]
    ),
    "finished, its RayCluster might create pods": Case(
        [dev("Complete"), finished(), child(suspend=True, rests=True)]
    ),
    "finished, its requests are not deleted yet": Case([dev("Complete"), finished(), request()]),
    "finished, and being deleted": Case([dev("Complete"), finished(**LEAVING)]),
    "finished, and its job continues": Case([dev("Running", suspend=False), finished()]),
    "deactivated long ago": Case([dev(), deactivated()], JOB),
    "deactivated a moment less ago": Case([dev(), deactivated(3_599)], until_ms=NOW_MS + 1000),
    "deactivated by a user": Case([dev(), deactivated(reason="Deactivated")]),
    "deactivated, and activated again": Case([dev(), deactivated(active=True)]),
    "deactivated, and not stopped": Case([dev("Running"), deactivated(3_600, *RUNS)]),
    "deactivated, a pod runs": Case([dev("Running"), deactivated(), pod(f"uid-{DEV}")]),
    "deactivated, its job is being deleted": Case([dev(**LEAVING), deactivated()]),
    "deactivated, its job is kept": Case([dev(), deactivated()], retention=Retention(after_finished_s=0)),
    "waiting": Case([dev(), workload_body(ray_job("dev"))]),
}


def by_kind(objects: Sequence[Body]) -> dict[Kind[Any], list[Body]]:
    by_kind_name: dict[Kind[Any], list[Body]] = {}
    for body in objects:
        by_kind_name.setdefault(kind_of(body), []).append(body)
    return by_kind_name


@pytest.mark.parametrize("name", CASES)
def test_deletions_at_the_end_of_a_retention(name: str) -> None:
    case = CASES[name]
    cluster = make_cluster(by_kind(case.objects))
    (finished_workload,) = cluster.workloads.values()
    planned = list(deletions(finished_workload, cluster, case.retention, NOW_MS))
    assert [f"{p.write} {p.write.uid}" for p in planned if isinstance(p.write, Delete)] == case.deletions
    facts = Facts(finished_workload, cluster, Configuration(retention=case.retention), NOW_MS)
    assert facts.retention_due_ms() == case.until_ms
    assert all(p.deferrable and p.events[0].reason == "Deleted" for p in planned)


def test_a_finished_job_gets_no_workload_after_its_deletion() -> None:
    cluster = make_cluster({kinds.RAY_JOBS: [dev("Complete")], kinds.WORKLOADS: []})
    assert (
        reconcile(cluster, NOW_MS, configuration=Configuration(retention=DAY)).writes.before_reservations
        == []
    )


def test_the_controller_wakes_up_at_the_end_of_a_retention() -> None:
    cluster = make_cluster(by_kind([dev("Complete"), finished(86_390)]))
    plan = reconcile(cluster, NOW_MS, configuration=Configuration(retention=DAY))
    assert (plan.wake_at_ms, plan.writes.before_reservations) == (NOW_MS + 10_000, [])
    again = reconcile(cluster, NOW_MS + 10_000, configuration=Configuration(retention=DAY))
    assert [str(p.write) for p in again.writes.before_reservations] == [f"delete Workload team-a/{DEV}"]


@pytest.mark.parametrize("name", ["finished long ago", "deactivated long ago"])
def test_a_refused_deletion_is_retried_after_a_back_off(name: str) -> None:
    objects = CASES[name].objects
    cluster, configuration = make_cluster(by_kind(objects)), Configuration(retention=DAY)
    assert reconcile(cluster, NOW_MS, (), configuration).writes.before_reservations != []
    assert reconcile(cluster, NOW_MS, (f"team-a/{DEV}",), configuration).writes.before_reservations == []
