"""The condition BudgetUsed, and its events."""

import json
from typing import Any

import pytest

from muster.cluster.cluster_state import ClusterState
from muster.controller.passes.reconcile import reconcile
from muster.kube import kinds
from muster.kube.writes import MergePatch
from muster.objects.meta import rfc3339
from muster.objects.names import BUDGETS, RECORDED_USAGE, RESOURCE_IN_USE
from tests.simulation.manifests import GPU, cluster_queue, quotas
from tests.unit.controller.builders import NOW_MS, make_cluster, stored

DAY_MS = 86_400_000
END = rfc3339(NOW_MS - NOW_MS % DAY_MS + DAY_MS)
OF = f"of the 10 {GPU} hours of this 1 d are used by"
ACTIVE = {"type": "Active", "status": "True", "reason": "Ready", "lastTransitionTime": rfc3339(NOW_MS)}


def cluster_with(
    hours: float, *conditions: dict[str, Any], of_cohort: bool = False, enforcement: str = "hard"
) -> ClusterState:
    """A queue that has used this many of 10 hours of its budget, or of its cohort's."""
    declared = {"resource": GPU, "hours": 10, "period": "day", "enforcement": enforcement}
    budget = {BUDGETS: json.dumps([declared])}
    usage = {"used": {"l4": {GPU: {str(NOW_MS // 3_600_000 - 1): round(hours * 3600)}}}}
    annotations = {RECORDED_USAGE: json.dumps(usage)} | ({} if of_cohort else budget)
    body = cluster_queue("team-a", quotas("l4", cpu=8, memory="8Gi", gpu=4))
    queue = stored(body, finalizers=[RESOURCE_IN_USE], annotations=annotations)
    queue["status"] = {"conditions": [ACTIVE, *conditions]}
    cohort = stored({"metadata": {"name": "ml"}, "spec": {}}, annotations=budget if of_cohort else {})
    return make_cluster({kinds.CLUSTER_QUEUES: [queue], kinds.COHORTS: [cohort]})


def reported(reason: str, message: str, status: str = "True") -> dict[str, Any]:
    time = rfc3339(NOW_MS - 1000)
    return {
        "type": "BudgetUsed",
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": time,
    }


NEARLY = f"At least 80 % {OF} ClusterQueue team-a, until {END}"
UP = f"At least 100 % {OF} ClusterQueue team-a, until {END}"
LESS = f"Less than 80 % {OF} ClusterQueue team-a, until {END}"

CASES: dict[str, tuple[ClusterState, tuple[str, str, str] | None, list[str]]] = {
    "less, and nothing is reported": (cluster_with(7.9), None, []),
    "80 %": (cluster_with(8), ("True", "BudgetNearlyUsed", NEARLY), ["BudgetNearlyUsed"]),
    "80 % are reported": (cluster_with(9.9, reported("BudgetNearlyUsed", NEARLY)), None, []),
    "100 %": (
        cluster_with(10, reported("BudgetNearlyUsed", NEARLY)),
        ("True", "BudgetUsedUp", UP),
        ["BudgetUsedUp"],
    ),
    "100 % of a soft budget": (
        cluster_with(10, enforcement="soft"),
        ("True", "BudgetUsedUp", f"{UP}: its workloads take only free quota"),
        ["BudgetUsedUp"],
    ),
    "80 % of a soft budget": (
        cluster_with(8, enforcement="soft"),
        ("True", "BudgetNearlyUsed", NEARLY),
        ["BudgetNearlyUsed"],
    ),
    "the next period": (
        cluster_with(0, reported("BudgetUsedUp", UP)),
        ("False", "WithinBudget", LESS),
        [],
    ),
    "less is reported": (cluster_with(0, reported("WithinBudget", LESS, "False")), None, []),
    "the budget of a cohort": (
        cluster_with(8, of_cohort=True),
        ("True", "BudgetNearlyUsed", f"At least 80 % {OF} cohort ml, until {END}"),
        ["BudgetNearlyUsed"],
    ),
}


@pytest.mark.parametrize(("cluster", "condition", "events"), CASES.values(), ids=CASES)
def test_queue_reports_the_used_part_of_its_budget(
    cluster: ClusterState, condition: tuple[str, str, str] | None, events: list[str]
) -> None:
    writes = [
        planned
        for planned in reconcile(cluster, NOW_MS).writes.before_reservations
        if planned.write.kind is kinds.CLUSTER_QUEUES
    ]
    assert [event.reason for planned in writes for event in planned.events] == events
    bodies = [planned.write.body["status"] for planned in writes if isinstance(planned.write, MergePatch)]
    reports = [(c["status"], c["reason"], c["message"]) for body in bodies for c in body["conditions"][1:]]
    assert reports == ([] if condition is None else [condition])
