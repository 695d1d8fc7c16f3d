"""The quota that gangs compete for. Releasing quota helps only gangs that request the same quota."""

from typing import NamedTuple

from muster.cluster.cluster_state import ClusterState
from muster.objects.kueue import Admission


class ContendedQuota(NamedTuple):
    """A resource of a flavor in a tree of cohorts. `tree` is empty for a flavor with a topology, as all trees
    share its nodes."""

    tree: str
    flavor: str
    resource: str


def contended_quota(admission: Admission, cluster: ClusterState) -> frozenset[ContendedQuota]:
    """Returns the quota that the admission uses; in all trees if its ClusterQueue no longer exists."""
    queue = admission.cluster_queue
    queues = [queue] if queue in cluster.cluster_queues else list(cluster.cluster_queues)
    return frozenset(
        contended(tree, flavor, resource, cluster)
        for tree in {root_of(name, cluster) for name in queues}
        for assigned in admission.pod_set_assignments
        for resource, flavor in assigned.flavors.items()
    )


def contended(tree: str, flavor: str, resource: str, cluster: ClusterState) -> ContendedQuota:
    """Returns the quota that workloads of one tree of cohorts compete for. Flavors with a topology share
    nodes across trees."""
    resource_flavor = cluster.flavors.get(flavor)
    has_topology = resource_flavor is not None and bool(resource_flavor.spec.topology_name)
    return ContendedQuota("" if has_topology else tree, flavor, resource)


def root_of(queue: str, cluster: ClusterState) -> str:
    """Returns the root of the ClusterQueue's tree of cohorts; for a cycle of cohorts, the first by name."""
    cluster_queue = cluster.cluster_queues.get(queue)
    cohort = cluster_queue.spec.cohort_name if cluster_queue is not None else ""
    path: list[str] = []
    while cohort and cohort not in path:
        path.append(cohort)
        parent = cluster.cohorts.get(cohort)
        cohort = parent.spec.parent_name if parent is not None else ""
    if not path:
        return f"ClusterQueue {queue}"
    return f"Cohort {min(path[path.index(cohort) :]) if cohort else path[-1]}"
