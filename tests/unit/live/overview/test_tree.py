"""The tree of cohorts and ClusterQueues: quotas, usage, numbers of workloads, demand."""

from copy import deepcopy
from typing import Any

import msgspec

from muster.kube import kinds
from muster.live.overview.document import document
from muster.live.overview.overview import overview
from muster.live.overview.tree import QueueNode, WorkloadNumbers, queue_tree
from muster.objects.meta import rfc3339
from tests.simulation.manifests import GPU, cluster_queue, local_stack, quotas, ray_job
from tests.unit.controller.builders import NOW_MS, Body
from tests.unit.live.builders import cluster, finished, running, since, waiting

BORROWER = running(ray_job("borrower", namespace="team-b", workers=6))
BORROWER["status"]["admission"]["clusterQueue"] = "team-b"


def tree(*workloads: Body, **replaced: Any) -> tuple[QueueNode, ...]:
    return queue_tree(overview(cluster(*workloads, **replaced), NOW_MS))


def column(node: QueueNode, flavor: str = "l4", resource: str = GPU) -> tuple[int, int, int, int, int]:
    (matches,) = (column for column in node.columns if (column.flavor, column.resource) == (flavor, resource))
    return matches.nominal, matches.total, matches.used, matches.borrowed, matches.lent


def test_queues_are_below_their_cohort() -> None:
    (root,) = tree()
    assert (root.kind, root.name) == ("Cohort", "ml")
    assert [(child.kind, child.name, child.children) for child in root.children] == [
        ("ClusterQueue", "team-a", ()),
        ("ClusterQueue", "team-b", ()),
    ]


def test_usage_is_that_of_the_core() -> None:
    (root,) = tree(running(ray_job("dev", workers=1)), BORROWER)
    team_a, team_b = root.children
    assert column(root) == (0, 8, 7, 0, 0)
    assert column(team_a) == (4, 4, 1, 0, 2)
    assert column(team_b) == (4, 4, 6, 2, 0)


def test_workloads_are_counted_by_their_state() -> None:
    reserving = running(ray_job("reserving", workers=1))
    reserving["status"]["conditions"] = [since("QuotaReserved", 5)]
    never = waiting(ray_job("never"), "ExceedsMaxQuota")
    (root,) = tree(
        running(ray_job("dev", workers=1)),
        reserving,
        waiting(ray_job("new")),
        never,
        finished(ray_job("old")),
    )
    expected = WorkloadNumbers(pending=2, inadmissible=1, reserving=2, admitted=1)
    assert root.children[0].workloads == root.workloads == expected
    assert root.children[1].workloads == WorkloadNumbers()


def test_demand_is_what_pending_workloads_ask_for() -> None:
    (root,) = tree(waiting(ray_job("one")), waiting(ray_job("two", workers=1)), running(ray_job("dev")))
    assert root.demand == root.children[0].demand
    assert root.demand.texts == {"cpu": "13", "memory": "24976Mi", GPU: "5"}  # heads, too, and submitters


def test_a_stopped_queue_says_so() -> None:
    stopped = cluster_queue("team-a", quotas("cpu", cpu=8), stopPolicy="Hold", cohort="")
    _, queue = tree(CLUSTER_QUEUES=[stopped])
    assert (queue.stop_policy, queue.problem) == ("Hold", "Stopped by its stopPolicy Hold")


def test_a_queue_with_a_missing_flavor_says_so() -> None:
    _, queue = tree(CLUSTER_QUEUES=[cluster_queue("team-a", quotas("tpu", cpu=8), cohort="")])
    assert queue.problem == "ResourceFlavors that do not exist: tpu"


def test_a_deleted_queue_keeps_its_usage() -> None:
    remaining = [row for row in local_stack()[kinds.CLUSTER_QUEUES] if row["metadata"]["name"] == "team-b"]
    (root,) = tree(running(ray_job("dev")), CLUSTER_QUEUES=remaining)
    deleted = root.children[0]
    assert (deleted.kind, deleted.name, deleted.workloads.reserving) == ("ClusterQueue", "team-a", 1)
    assert deleted.problem == "it was deleted"


def test_a_workload_that_contradicts_itself_is_left_out() -> None:
    """Kueue accepts any pod template in a Workload; one of a tenant must not hide the queues of all."""
    odd = deepcopy(waiting(ray_job("odd")))
    term = {"matchExpressions": [{"key": "zone", "operator": "Near", "values": ["a"]}]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    as_json = msgspec.json.decode(msgspec.json.encode(odd))
    for pod_set in as_json["spec"]["podSets"]:
        pod_set["template"]["spec"]["affinity"] = {"nodeAffinity": affinity}
    observed = overview(cluster(as_json, waiting(ray_job("one", workers=1))), NOW_MS)
    (root,) = queue_tree(observed)
    assert (root.workloads.pending, root.demand[GPU]) == (2, 1)
    (problem,) = observed.state.unreadable.values()
    assert "operator 'Near'; expected one of: DoesNotExist" in problem


def test_weights_and_shares() -> None:
    (root,) = tree(
        BORROWER,
        CLUSTER_QUEUES=[
            {**queue, "spec": {**queue["spec"], "fairSharing": {"weight": "2"}}}
            for queue in local_stack(check=False)[kinds.CLUSTER_QUEUES]
        ],
    )
    team_a, team_b = root.children
    assert (team_a.weight, team_a.share) == (2, 0)
    assert team_b.share == 1000 * 2 / 8 / 2


def test_document_has_quantities_as_kubernetes_writes_them() -> None:
    (root,) = document(tree(waiting(ray_job("one")), running(ray_job("dev", workers=1))))
    team_a = root["children"][0]
    assert team_a["stopPolicy"] == "None"
    assert team_a["workloads"] == {"pending": 1, "inadmissible": 0, "reserving": 1, "admitted": 1}
    assert team_a["demand"]["memory"] == "18632Mi"
    memory = next(
        column for column in team_a["columns"] if column["resource"] == "memory" and column["flavor"] == "l4"
    )
    assert memory == {
        "flavor": "l4",
        "resource": "memory",
        "nominal": "64Gi",
        "total": "64Gi",
        "used": "0",
        "borrowed": "0",
        "lent": "0",
        "available": "128Gi",
    }
    assert rfc3339(NOW_MS) not in str(root)
