"""The order in which the Workloads of new jobs are created, and how many of them by one pass."""

from typing import Any

import pytest

from muster.controller.gangs.planned_write import DEFERRABLE_WRITES_MAX
from muster.controller.passes.pass_plan import PassPlan
from muster.controller.passes.reconcile import reconcile
from muster.kube import kinds
from muster.kube.writes import Create
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import NOW_MS, Body, make_cluster, stored

EARLY, LATE = "2027-01-15T07:00:00Z", "2027-01-15T07:00:01Z"


def new(name: str, priority: str = "", *, at: str = EARLY, namespace: str = "team-a", **meta: Any) -> Body:
    return stored(ray_job(name, priority=priority), creationTimestamp=at, namespace=namespace, **meta)


def made_by(plan: PassPlan) -> list[str]:
    """Returns the jobs whose Workloads are created, in order."""
    creations = (w.write for w in plan.writes.before_reservations if isinstance(w.write, Create))
    return [write.body["metadata"]["ownerReferences"][0]["name"] for write in creations]


JOBS: dict[str, tuple[list[Body], list[str]]] = {
    "the oldest first": ([new("a", at=LATE), new("b", at=EARLY)], ["b", "a"]),
    "by name if they were created in the same second": ([new("b"), new("a")], ["a", "b"]),
    "a higher priority before age": (
        [new("a", at=EARLY), new("b", "prod-priority", at=LATE)],
        ["b", "a"],
    ),
    "namespaces take turns": (
        [new("a"), new("b"), new("c"), new("d", at=LATE, namespace="team-b")],
        ["a", "d", "b", "c"],
    ),
    "not of a job that is being deleted": ([new("a", deletionTimestamp=LATE), new("b")], ["b"]),
}


@pytest.mark.parametrize("name", JOBS)
def test_the_order_of_new_workloads(name: str) -> None:
    jobs, expected = JOBS[name]
    assert made_by(reconcile(make_cluster({kinds.RAY_JOBS: jobs}), NOW_MS)) == expected


def test_jobs_beyond_the_limit_are_left_to_the_next_pass() -> None:
    """The objects of thousands of Workloads, as in a burst, are not computed in each pass."""
    jobs = [new(f"job-{number:03}") for number in range(DEFERRABLE_WRITES_MAX + 1)]
    cluster = make_cluster({kinds.RAY_JOBS: jobs})
    first = reconcile(cluster, NOW_MS)
    assert made_by(first) == [job["metadata"]["name"] for job in jobs[:-1]]
    assert first.postponed
    last = reconcile(cluster, NOW_MS, {job["metadata"]["uid"] for job in jobs[:-1]})
    assert made_by(last) == ["job-064"]
    assert not last.postponed
