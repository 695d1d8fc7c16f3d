"""Gangs that compete for the same quota: in one tree of cohorts, or on the nodes of one topology."""

from typing import Any

import pytest

from muster.cluster.cluster_state import ClusterState
from muster.controller.gangs.contended_quota import ContendedQuota, contended_quota, root_of
from muster.kube import kinds
from muster.objects.kueue import Admission
from tests.simulation.manifests import cluster_queue, flavor, quotas
from tests.unit.controller.builders import Body, make_cluster, read

L4 = quotas("l4", gpu=4)


def cohort(name: str, parent: str = "") -> Body:
    return {"metadata": {"name": name}, "spec": {"parentName": parent} if parent else {}}


# cohort of ClusterQueue q, the Cohorts there are -> the tree
ROOTS: dict[str, tuple[str, list[Body], str]] = {
    "no cohort": ("", [], "ClusterQueue q"),
    "a cohort that no object declares": ("ml", [], "Cohort ml"),
    "a cohort without a parent": ("ml", [cohort("ml")], "Cohort ml"),
    "a cohort of cohorts": ("ml", [cohort("ml", "org"), cohort("org", "all")], "Cohort all"),
    "a cycle, by its first name": ("b", [cohort("a", "b"), cohort("b", "a")], "Cohort a"),
    "a cohort below a cycle": ("0", [cohort("0", "b"), cohort("a", "b"), cohort("b", "a")], "Cohort a"),
}


@pytest.mark.parametrize("name", ROOTS)
def test_the_root_of_a_cluster_queues_cohorts(name: str) -> None:
    of, cohorts, root = ROOTS[name]
    assert root_of("q", cluster([cluster_queue("q", L4, cohort=of)], cohorts)) == root


def test_a_deleted_cluster_queue_is_its_own_tree() -> None:
    assert root_of("gone", cluster([], [])) == "ClusterQueue gone"


def test_flavors_with_a_topology_are_shared_by_all_trees() -> None:
    placed = flavor("l4")
    placed["spec"]["topologyName"] = "racks"
    queues = [cluster_queue("q", L4, cohort="")]
    assert contended_quota(holds("q"), cluster(queues, [], placed)) == {
        ContendedQuota("", "l4", "nvidia.com/gpu")
    }
    assert contended_quota(holds("q"), cluster(queues, [], flavor("l4"))) == {
        ContendedQuota("ClusterQueue q", "l4", "nvidia.com/gpu")
    }


def test_usage_of_a_deleted_cluster_queue_counts_in_every_tree() -> None:
    queues = [cluster_queue("q", L4, cohort=""), cluster_queue("p", L4, cohort="ml")]
    trees = {quota.tree for quota in contended_quota(holds("gone"), cluster(queues, []))}
    assert trees == {"ClusterQueue q", "Cohort ml"}


def holds(queue: str) -> Admission:
    assigned = {"name": "gpu", "flavors": {"nvidia.com/gpu": "l4"}, "resourceUsage": {}, "count": 1}
    status = {"admission": {"clusterQueue": queue, "podSetAssignments": [assigned]}}
    parsed: Any = read(kinds.WORKLOADS, {"metadata": {"name": "w"}, "spec": {}, "status": status})
    admission: Admission = parsed.status.admission
    return admission


def cluster(queues: list[Body], cohorts: list[Body], *flavors: Body) -> ClusterState:
    return make_cluster({kinds.CLUSTER_QUEUES: queues, kinds.COHORTS: cohorts, kinds.FLAVORS: flavors})
