"""The numbers of workers that an autoscaled gang has, asks for, and may keep."""

from collections.abc import Iterator, Mapping

from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.job import Job
from muster.cluster.jobs.scaling import GroupSizes, stored_sizes
from muster.cluster.pod_placements import pod_placements
from muster.cluster.pod_sets import counts_by_pod_set
from muster.cluster.queued_growth import checks_allow_growth, nodes_by_group, queued_groups
from muster.kube.kinds import RAY_CLUSTERS
from muster.objects import workload_status
from muster.objects.kueue import Workload, WorkloadStatus
from muster.translation.elastic import GROWTH_MAX, ElasticPodSet


def elastic_pod_sets(
    workload: Workload, status: WorkloadStatus, cluster: ClusterState, now_ms: int
) -> Mapping[str, ElasticPodSet]:
    """Returns the elastic pod sets of a gang with quota; empty for a gang of a fixed size or without
    quota."""
    sizes = stored_sizes(workload)
    if not sizes or status.admission is None or not workload_status.holds_quota(status):
        return {}
    counts = granted_counts(status)
    grows = may_grow(workload, status, cluster)
    running = running_counts(workload, cluster)
    placements = pod_placements(workload, status, cluster)
    asked = {**asked_pods(workload, cluster)}
    if grows:
        for name, nodes in nodes_by_group(workload, status, cluster, now_ms).items():
            asked[name] = nodes.asked(asked[name], sizes[name].num_of_hosts)
    return {
        name: ElasticPodSet(
            minimum=group.minimum,
            replica=group.num_of_hosts,
            asked=min(asked[name], counts[name] + GROWTH_MAX * group.num_of_hosts if grows else counts[name]),
            running=running.get(name, 0),
            placed=placements.get(name),
        )
        for name, group in sizes.items()
        if name in counts
    }


def granted_counts(status: WorkloadStatus) -> dict[str, int]:
    """Returns the pods that hold quota, by pod set."""
    assigned = status.admission.pod_set_assignments if status.admission is not None else ()
    return {assignment.name: assignment.count or 0 for assignment in assigned}


def may_grow(workload: Workload, status: WorkloadStatus, cluster: ClusterState) -> bool:
    """Returns whether an admitted gang may get more than its minimum: the nodes of further pods exist or can
    be requested, but nodes that are requested have no place in a topology before they exist."""
    if not workload_status.is_admitted(status) or workload_status.is_evicted(status):
        return False
    if not checks_allow_growth(workload, status, cluster):
        return False
    queued = queued_groups(workload, status, cluster)
    assigned = status.admission.pod_set_assignments if status.admission is not None else ()
    placed = {a.name for a in assigned if a.topology_assignment is not None or a.delayed_topology_request}
    placed |= {pod_set.name for pod_set in workload.spec.pod_sets if pod_set.topology_request is not None}
    return placed.isdisjoint(queued)


def running_counts(workload: Workload, cluster: ClusterState) -> dict[str, int]:
    """Returns the number of existing pods that use quota, by pod set."""
    return counts_by_pod_set(cluster.live_pods_of(workload))


def asked_pods(workload: Workload, cluster: ClusterState) -> Mapping[str, int]:
    """Returns the number of pods that each worker group asks for, by `replicas` of its RayCluster, which
    Ray's autoscaler sets, or of the user's manifest before there is a RayCluster."""
    sizes = stored_sizes(workload)
    replicas = [scaled.sizes for scaled in scaled_clusters(workload, cluster)]
    return {name: group.asked(_replicas(name, group, replicas)) for name, group in sizes.items()}


def _replicas(name: str, group: GroupSizes, clusters: list[Mapping[str, GroupSizes]]) -> int:
    return max((sizes[name].replicas for sizes in clusters if name in sizes), default=group.replicas)


def scaled_clusters(workload: Workload, cluster: ClusterState) -> Iterator[Job]:
    """Yields the RayClusters that the autoscaler scales: the job itself, or the RayClusters that KubeRay
    created for it."""
    job = cluster.job_of(workload)
    if job is None:
        return
    clusters = [job] if job.kind is RAY_CLUSTERS else cluster.dependents_of(workload)
    yield from (c for c in clusters if not c.metadata.deletion_timestamp and not c.suspended)
