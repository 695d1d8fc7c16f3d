"""The record of usage for budgets: before quota is released, once, and only with budgets."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from muster.cluster import budget_usage
from muster.cluster.budget_usage import usage_until
from muster.cluster.cluster_state import ClusterState
from muster.controller.gangs.recorded_usage import ends_unrecorded, record_ends, with_usage
from muster.controller.passes.reconcile import reconcile
from muster.kube import kinds
from muster.kube.writes import MergePatch
from muster.objects.kueue import Admission, PodSetAssignment, WorkloadStatus
from muster.objects.meta import Condition, find_condition, rfc3339
from muster.objects.names import RECORDED_USAGE, RESOURCE_IN_USE
from muster.translation.recorded_usage import Leaving, of_workload
from tests.simulation.manifests import GPU, cluster_queue, quotas, ray_job
from tests.unit.controller.builders import NOW_MS, make_cluster, stored, workload_body

NOW_S = NOW_MS // 1000
BUDGETS = json.dumps([{"resource": GPU, "hours": 10, "period": "month"}])
UID = "uid-rayjob-dev-0b2fb"


def ended(until_s: int, uid: str = UID) -> dict[str, Any]:
    return {uid: {"until": until_s, "used": {"l4": {GPU: {str(NOW_S // 3600): 40}}}}}


def cluster_with(usage: dict[str, Any] | None = None, budgets: str = BUDGETS, **meta: Any) -> ClusterState:
    """A gang that has finished and has no pods, and a queue with a budget."""
    queue = cluster_queue("team-a", quotas("l4", cpu=8, memory="8Gi", gpu=4))
    annotations = {"muster.dev/budgets": budgets} if budgets else {}
    annotations |= {RECORDED_USAGE: json.dumps(usage)} if usage is not None else {}
    finished = workload_body(
        ray_job("dev"), "QuotaReserved", "Finished", **{"finalizers": [RESOURCE_IN_USE]} | meta
    )
    for of in finished["status"]["conditions"]:
        of["lastTransitionTime"] = rfc3339(NOW_MS - 10_000)
    return make_cluster(
        {
            kinds.CLUSTER_QUEUES: [stored(queue, finalizers=[RESOURCE_IN_USE], annotations=annotations)],
            kinds.WORKLOADS: [finished],
        }
    )


RECORDED: dict[str, tuple[ClusterState, bool]] = {
    "not recorded": (cluster_with(), True),
    "recorded": (cluster_with({"ended": ended(NOW_S)}), False),
    "recorded before a restart": (cluster_with({"ended": ended(NOW_S - 60)}), False),
    "recorded too long ago": (cluster_with({"ended": ended(NOW_S - 61)}), True),
    "another one is recorded": (cluster_with({"ended": ended(NOW_S, "uid-other")}), True),
    "an unreadable record": (cluster_with({"ended": 7}), True),
    "no budget": (cluster_with(budgets=""), False),
    "an unreadable budget": (cluster_with(budgets="[7]"), False),
    "quota already released": (cluster_with(finalizers=[]), False),
}


@pytest.mark.parametrize(("cluster", "ends"), RECORDED.values(), ids=RECORDED)
def test_usage_is_recorded_before_quota_is_released(cluster: ClusterState, ends: bool) -> None:
    (workload,) = cluster.workloads.values()
    assert ends_unrecorded(workload, cluster, NOW_MS) is ends
    writes = [planned.write for planned in reconcile(cluster, NOW_MS).writes.before_reservations]
    patched = [write.kind for write in writes if isinstance(write, MergePatch) and not write.status]
    is_held = RESOURCE_IN_USE in workload.metadata.finalizers
    assert patched == ([kinds.CLUSTER_QUEUES] if ends else [kinds.WORKLOADS] if is_held else [])


def _recorded(cluster: ClusterState) -> Any:
    (planned,) = record_ends(cluster.workloads.values(), cluster, NOW_MS)
    assert isinstance(planned.write, MergePatch)
    return json.loads(planned.write.body["metadata"]["annotations"][RECORDED_USAGE])


def test_record_adds_the_reservation_and_keeps_open_entries_apart() -> None:
    """The entry of a Workload that no longer exists is final."""
    recorded = _recorded(cluster_with({"ended": ended(NOW_S - 100, "uid-gone")}))
    assert recorded["used"] == {"l4": {GPU: {str(NOW_S // 3600): 40}}}
    assert recorded["ended"][UID]["until"] == NOW_S
    hours = recorded["ended"][UID]["used"]["l4"][GPU]
    assert sum(hours.values()) == 4 * 10


SPENT: dict[str, tuple[ClusterState, int]] = {
    "an entry of a Workload that still counts itself": (cluster_with({"ended": ended(NOW_S)}), 0),
    "an entry of a Workload that has released its quota": (
        cluster_with({"ended": ended(NOW_S)}, finalizers=[]),
        40,
    ),
    "an entry of a Workload that is gone": (cluster_with({"ended": ended(NOW_S, "uid-gone")}), 40),
    "the sum of the queue": (cluster_with({"used": {"l4": {GPU: {"0": 7}}}}), 7),
    "no budget": (cluster_with({"used": {"l4": {GPU: {"0": 7}}}}, budgets=""), 0),
}


@pytest.mark.parametrize(("cluster", "unit_s"), SPENT.values(), ids=SPENT)
def test_each_usage_counts_once(cluster: ClusterState, unit_s: int) -> None:
    spent = budget_usage.spent(cluster).get("team-a", ())
    assert sum(recorded.unit_ms for recorded in spent) == unit_s * 1000


def _status(*, reserved_s: int = NOW_S - 10, gpus: int = 4, holds: bool = True) -> WorkloadStatus:
    reserved = Condition(
        type="QuotaReserved", status=str(holds), last_transition_time=rfc3339(reserved_s * 1000)
    )
    assigned = PodSetAssignment(name="gpu", flavors={GPU: "l4"}, resource_usage={GPU: str(gpus)}, count=gpus)
    admission = Admission(cluster_queue="team-a", pod_set_assignments=(assigned,)) if holds else None
    return WorkloadStatus(conditions=(reserved,), admission=admission)


ENDS: dict[str, tuple[WorkloadStatus, WorkloadStatus, int | None]] = {
    "the reservation ends": (_status(), _status(holds=False), 40),
    "it is replaced by another": (_status(), _status(reserved_s=NOW_S), 40),
    "the gang grows": (_status(), _status(gpus=6), 40),
    "it lasts": (_status(), _status(), None),
    "it begins": (_status(holds=False), _status(), None),
}


@pytest.mark.parametrize(("old", "new", "unit_s"), ENDS.values(), ids=ENDS)
def test_status_that_ends_a_reservation_has_its_usage(
    old: WorkloadStatus, new: WorkloadStatus, unit_s: int | None
) -> None:
    written = with_usage(old, new, NOW_MS, frozenset({GPU}))
    condition = find_condition(written.conditions, "BudgetUsage")
    usage = of_workload(written)
    assert (condition.reason if condition else None) == (None if unit_s is None else "Recorded")
    assert usage.until == (NOW_S if unit_s is not None else 0)
    hours = usage.queues["team-a"]["l4"][GPU] if usage.queues else {}
    assert sum(hours.values()) == (unit_s or 0)
    assert with_usage(old, new, NOW_MS, frozenset()) is new, "no budget"


LEAVING: Leaving = {"l4": {GPU: 2}}


def test_pods_that_leave_count_until_they_have_terminated() -> None:
    """6 GPUs for 10 s, then 4 and 2 that terminate for 5 s, then 4 and 1 for 3 s, then 4 for 2 s."""
    resources = frozenset({GPU})
    shrunk = with_usage(_status(gpus=6), _status(), NOW_MS, resources, LEAVING)
    one_left = with_usage(shrunk, shrunk, NOW_MS + 5000, resources, {"l4": {GPU: 1}})
    assert with_usage(one_left, one_left, NOW_MS + 6000, resources, {"l4": {GPU: 1}}) is one_left
    none_left = with_usage(one_left, one_left, NOW_MS + 8000, resources, {})
    used = usage_until(none_left, NOW_S + 10, resources).queues["team-a"]["l4"][GPU]
    assert sum(used.values()) == 6 * 10 + 6 * 5 + 5 * 3 + 4 * 2
    assert usage_until(none_left, NOW_S + 10, frozenset()).until == NOW_S + 8


def test_pods_that_leave_do_not_count_after_the_reservation() -> None:
    shrunk = with_usage(_status(gpus=6), _status(), NOW_MS, frozenset({GPU}), LEAVING)
    released = replace(
        _status(holds=False), conditions=(*_status(holds=False).conditions, *shrunk.conditions[1:])
    )
    ended = with_usage(shrunk, released, NOW_MS + 5000, frozenset({GPU}))
    assert of_workload(ended).leaving == {}
    assert sum(of_workload(ended).queues["team-a"]["l4"][GPU].values()) == 6 * 15


def test_usage_adds_up_over_resizes_and_reservations() -> None:
    """4 GPUs for 10 s, 6 for 5 s, and after a pause 1 for 3 s."""
    grown = with_usage(_status(), _status(gpus=6), NOW_MS, frozenset({GPU}))
    unreserved = _status(holds=False).conditions[0]
    released = replace(grown, admission=None, conditions=(unreserved, *grown.conditions[1:]))
    released = with_usage(grown, released, NOW_MS + 5000, frozenset({GPU}))
    again = _status(reserved_s=NOW_S + 60, gpus=1)
    again = replace(again, conditions=(*again.conditions, *released.conditions[1:]))
    used = usage_until(again, NOW_S + 63, frozenset({GPU})).queues["team-a"]["l4"][GPU]
    assert sum(used.values()) == 4 * 10 + 6 * 5 + 3
