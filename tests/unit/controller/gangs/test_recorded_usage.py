"""The record of usage for budgets: before quota is released, once, and only with budgets."""

import json
from typing import Any

import pytest

from muster.cluster import budget_usage
from muster.cluster.cluster_state import ClusterState
from muster.controller.gangs.recorded_usage import ends_unrecorded, record_ends
from muster.controller.passes.reconcile import reconcile
from muster.kube import kinds
from muster.kube.writes import MergePatch
from muster.objects.meta import rfc3339
from muster.objects.names import RECORDED_USAGE, RESOURCE_IN_USE
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
