"""Tests which Workloads a pass examines again, and that it notices missed ones."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import pytest
from msgspec.structs import replace as with_fields

from muster.cluster.cluster_state import ClusterState
from muster.cluster.relations import Marks
from muster.controller.passes import reconcile as of_passes
from muster.controller.passes.examination import examine
from muster.controller.passes.pass_memory import PassMemory
from muster.controller.passes.reconcile import reconcile
from muster.kube import kinds
from muster.kube.writes import MergePatch
from muster.objects.kueue import Workload
from muster.objects.meta import rfc3339
from tests.simulation.api import key_of
from tests.simulation.manifests import cluster_queue, local_queue, quotas, ray_job
from tests.unit.controller.builders import NOW_MS, Body, condition, make_cluster, stored, workload_body

FIRST, SECOND = (workload_body(ray_job(name)) for name in ("first", "second"))
ONE, BOTH = {"first"}, {"first", "second"}
NO_ROOM = quotas("cpu", cpu=0, memory=0), quotas("l4", cpu=0, memory=0, gpu=0)
BACK_MS = NOW_MS + 5000


def away(body: Body) -> Body:
    """The Workload in its back-off."""
    requeued = condition("Requeued", False, "AdmissionCheck", "Evicted")
    state = {"count": 1, "requeueAt": rfc3339(BACK_MS)}
    return {**body, "status": {"conditions": [requeued], "requeueState": state}}


def world(*workloads: Body) -> ClusterState:
    jobs = [stored(ray_job(name)) for name in ("first", "second")]
    return make_cluster(
        {
            kinds.CLUSTER_QUEUES: [cluster_queue("team-a", *NO_ROOM)],
            kinds.LOCAL_QUEUES: [local_queue("team-a", "team-a")],
            kinds.RAY_JOBS: jobs,
            kinds.WORKLOADS: list(workloads),
        }
    )


class Passes:
    """Passes with one memory; `examined` are the jobs whose Workloads the last one examined."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.examined: set[str] = set()
        self.memory = PassMemory()

        def noted(workload: Workload, *args: Any) -> Any:
            self.examined.add(workload.metadata.name.split("-")[1])
            return examine(workload, *args)

        monkeypatch.setattr(of_passes, "examine", noted)

    def next(self, cluster: ClusterState, now_ms: int = NOW_MS, **fields: Any) -> int:
        """Runs a pass in which no object of a single Workload has changed. Returns its differences."""
        self.examined.clear()
        cluster = replace(cluster, marks=fields.pop("marks", None) or Marks())
        return reconcile(cluster, now_ms, memory=self.memory, **fields).statistics.differences


def with_wait_reasons(*workloads: Body) -> list[Body]:
    """Returns the Workloads after a pass has written their reasons to wait."""
    plan = reconcile(world(*workloads), NOW_MS)
    written = {w.write.key: w.write for w in plan.writes.wait_reasons}
    assert len(written) == len(workloads)
    return [{**body, **cast("MergePatch", written[key_of(body)]).body} for body in workloads]


def with_queue(cluster: ClusterState, **fields: Any) -> ClusterState:
    queue = cluster.cluster_queues["team-a"]
    return cluster.with_objects(kinds.CLUSTER_QUEUES, {"team-a": with_fields(queue, **fields)})


def with_status(cluster: ClusterState) -> ClusterState:
    queue = cluster.cluster_queues["team-a"]
    versioned = with_fields(queue.metadata, resource_version="8")
    return with_queue(cluster, metadata=versioned, status=with_fields(queue.status, pending_workloads=7))


def with_spec(cluster: ClusterState) -> ClusterState:
    return with_queue(cluster, spec=with_fields(cluster.cluster_queues["team-a"].spec, stop_policy="Hold"))


# what happens between two passes -> Workloads that the second examines
BETWEEN: dict[str, tuple[Callable[[ClusterState], ClusterState], Mapping[str, Any], set[str]]] = {
    "nothing": (lambda c: c, {}, set()),
    "time": (lambda c: c, {"now_ms": NOW_MS + 3_600_000}, set()),
    "the clock is set back": (lambda c: c, {"now_ms": NOW_MS - 1}, BOTH),
    "one is marked": (lambda c: c, {"marks": Marks({key_of(FIRST)})}, ONE),
    "all are": (lambda c: c, {"marks": Marks(full=True)}, BOTH),
    "the status of its queue": (with_status, {}, set()),
    "the spec of its queue": (with_spec, {}, BOTH),
    "a queue is deleted": (lambda c: c.with_objects(kinds.LOCAL_QUEUES, {}), {}, BOTH),
}


@pytest.mark.parametrize("name", BETWEEN)
def test_a_pass_examines_what_changed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change, changes, expected = BETWEEN[name]
    passes, cluster = Passes(monkeypatch), world(*with_wait_reasons(FIRST, SECOND))
    passes.next(cluster)
    assert passes.examined == BOTH, "a new memory"
    passes.next(change(cluster), **changes)
    assert passes.examined == expected


def test_workloads_with_something_left_to_write_are_examined_again(monkeypatch: pytest.MonkeyPatch) -> None:
    passes, cluster = Passes(monkeypatch), world(FIRST, *with_wait_reasons(SECOND))
    passes.next(cluster)
    for backing_off in ((), {key_of(FIRST)}, {key_of(FIRST)}, ()):
        passes.next(cluster, backing_off=backing_off)
        assert passes.examined == ONE


def test_workloads_are_examined_when_their_time_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    passes, cluster = Passes(monkeypatch), world(*with_wait_reasons(away(FIRST), SECOND))
    examined = []
    for now_ms in (NOW_MS, BACK_MS - 1, BACK_MS):
        passes.next(cluster, now_ms)
        examined.append(passes.examined.copy())
    assert examined == [BOTH, set(), ONE]


def test_a_full_pass_counts_workloads_that_nothing_had_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    passes, cluster = Passes(monkeypatch), world(*with_wait_reasons(FIRST, SECOND))
    passes.next(cluster)
    (key, workload), *_ = cluster.workloads.items()
    changed = with_fields(workload, spec=with_fields(workload.spec, active=False))
    silently = cluster.with_objects(kinds.WORKLOADS, {**cluster.workloads, key: changed})
    plans = [passes.next(silently), passes.next(silently, marks=Marks(full=True))]
    assert plans == [0, 1]
    assert passes.next(silently, marks=Marks(full=True)) == 0
