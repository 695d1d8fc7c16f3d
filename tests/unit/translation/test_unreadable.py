"""Quotas of unreadable ClusterQueues and Cohorts."""

from typing import Any

import msgspec
import pytest

from muster import admission as core
from muster.objects import kueue_queues
from muster.translation import snapshot
from tests.simulation.manifests import cluster_queue, group, quotas

Body = dict[str, Any]
LIMITS = {"nominalQuota": "4", "borrowingLimit": "-1", "lendingLimit": "none"}

# Name of the case -> resource groups, and the resulting quotas.
GROUPS: dict[str, tuple[list[Body], dict[tuple[str, str], core.Quota]]] = {
    "a negative quota": (
        [group(quotas("l4", cpu=2, gpu=-4))],
        {("l4", "cpu"): core.Quota(2000), ("l4", "nvidia.com/gpu"): core.Quota(0)},
    ),
    "an invalid quantity": (
        [group(quotas("l4", cpu="two", gpu=4))],
        {("l4", "cpu"): core.Quota(0), ("l4", "nvidia.com/gpu"): core.Quota(4)},
    ),
    "invalid limits": (
        [group(quotas("l4", gpu=LIMITS))],
        {("l4", "nvidia.com/gpu"): core.Quota(4, 0, 0)},
    ),
    "a resource in two groups": (
        [group(quotas("cpu", cpu=1, gpu=0)), group(quotas("l4", gpu=4))],
        {
            ("cpu", "cpu"): core.Quota(1000),
            ("cpu", "nvidia.com/gpu"): core.Quota(0),
            ("l4", "cpu"): core.Quota(0),
            ("l4", "nvidia.com/gpu"): core.Quota(0),
        },
    ),
    "a flavor twice in a group": (
        [{"coveredResources": ["cpu"], "flavors": [quotas("l4", cpu=1), quotas("l4", cpu=2)]}],
        {("l4", "cpu"): core.Quota(0)},
    ),
}


def columns(groups: tuple[core.ResourceGroup, ...]) -> dict[tuple[str, str], core.Quota]:
    return {
        (f.flavor, resource): quota for g in groups for f in g.flavors for resource, quota in f.quotas.items()
    }


@pytest.mark.parametrize("name", GROUPS)
def test_invalid_quotas_count_as_zero(name: str) -> None:
    groups, expected = GROUPS[name]
    body = cluster_queue("team-a", quotas("l4", cpu=1))
    body["spec"]["resourceGroups"] = groups
    queue = msgspec.convert(body, type=kueue_queues.ClusterQueue)
    cohort_body = {"metadata": {"name": "ml"}, "spec": {"parentName": "org", "resourceGroups": groups}}
    cohort = msgspec.convert(cohort_body, type=kueue_queues.Cohort)
    core_snapshot = snapshot.snapshot((), (cohort,), (queue,), ())
    core.Engine(core_snapshot)  # the engine accepts it as valid
    counted = core_snapshot.cluster_queues["team-a"]
    assert (counted.cohort, columns(counted.groups)) == ("ml", expected)
    assert counted.problem
    assert columns(core_snapshot.cohorts["ml"].groups) == expected
    assert core_snapshot.cohorts["ml"].parent == "org"


def test_a_deleted_queue_counts_in_a_cohort_with_its_flavors() -> None:
    queues = (
        msgspec.convert(
            cluster_queue("alone", quotas("l4", cpu=1), cohort=""), type=kueue_queues.ClusterQueue
        ),
        msgspec.convert(cluster_queue("team-b", quotas("l4", cpu=1)), type=kueue_queues.ClusterQueue),
        msgspec.convert(
            cluster_queue("team-c", quotas("t4", cpu=1), cohort="a"), type=kueue_queues.ClusterQueue
        ),
    )
    deleted_queues = {"team-a": frozenset({"l4"}), "other": frozenset({"h100"})}
    core_snapshot = snapshot.snapshot((), (), queues, (), deleted_queues=deleted_queues)
    assert core_snapshot.cluster_queues["team-a"].cohort == "ml"
    assert core_snapshot.cluster_queues["other"].cohort is None
    assert core_snapshot.cluster_queues["team-a"].problem
