"""The quota that gangs compete for: releasing some of it only helps gangs that request the same."""

from typing import NamedTuple

from muster.controller.cluster.cluster_state import ClusterState
from muster.objects.kueue import Admission


class ContendedQuota(NamedTuple):
    """One resource of one flavor in one tree of cohorts; in all trees for a flavor with a topology, whose
    nodes they share."""

    tree: str
    flavor: str
    resource: str


def contended_quota(admission: Admission, cluster: ClusterState) -> frozenset[ContendedQuota]:
    """Returns the quota that the admission uses; in any tree if its ClusterQueue is gone."""
    queue = admission.cluster_queue
    queues = [queue] if queue in cluster.cluster_queues else list(cluster.cluster_queues)
    return frozenset(
        contended(tree, flavor, resource, cluster)
        for tree in {root_of(name, cluster) for name in queues}
        for assigned in admission.pod_set_assignments
        for resource, flavor in assigned.flavors.items()
    )


def contended(tree: str, flavor: str, resource: str, cluster: ClusterState) -> ContendedQuota:
    known = cluster.flavors.get(flavor)
    placed = known is not None and bool(known.spec.topology_name)
    return ContendedQuota("" if placed else tree, flavor, resource)


def root_of(queue: str, cluster: ClusterState) -> str:
    """Returns the tree of cohorts of the ClusterQueue; for a cycle of cohorts, the first by name."""
    found = cluster.cluster_queues.get(queue)
    cohort = found.spec.cohort_name if found is not None else ""
    path: list[str] = []
    while cohort and cohort not in path:
        path.append(cohort)
        parent = cluster.cohorts.get(cohort)
        cohort = parent.spec.parent_name if parent is not None else ""
    if not path:
        return f"ClusterQueue {queue}"
    return f"Cohort {min(path[path.index(cohort) :]) if cohort else path[-1]}"
