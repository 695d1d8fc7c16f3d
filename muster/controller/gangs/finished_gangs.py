"""Finished gangs whose pods still run, as with a RayJob's ttlSecondsAfterFinished.

They count against the quota until their pods are gone, for as long as their Workload has its finalizer. As
soon as another workload waits for this quota, their RayClusters are suspended: their work is done.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from muster.admission import Waiting, WaitReason
from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.gangs.contended_quota import ContendedQuota, contended, contended_quota, root_of
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.gangs.stops import stop_dependents
from muster.controller.gangs.suspension import SUSPENSION_MS_MAX, is_being_deleted
from muster.kube.kinds import WORKLOADS
from muster.kube.writes import MergePatch
from muster.objects import workload_status
from muster.objects.kueue import RESOURCE_IN_USE, Admission, Workload
from muster.objects.meta import find_condition, millis
from muster.objects.workload_status import FINISHED

REASON = "Its job is finished, and others wait for the quota of its pods"


def has_released_quota(workload: Workload) -> bool:
    """Whether it is finished and its quota is released for good."""
    finished = workload_status.is_finished(workload.status)
    return finished and RESOURCE_IN_USE not in workload.metadata.finalizers


def is_finished_with_quota(workload: Workload, cluster: ClusterState) -> bool:
    """Returns whether it is finished and still holds its quota."""
    return workload_status.is_finished(workload.status) and cluster.counts_against_quota(workload)


def quota_release(workload: Workload, cluster: ClusterState, now_ms: int) -> PlannedWrite | None:
    """Releases the quota of a finished gang whose pods are gone."""
    meta = workload.metadata
    if meta.deletion_timestamp or not _quota_may_be_released(workload, cluster, now_ms):
        return None
    kept = [f for f in meta.finalizers if f != RESOURCE_IN_USE]
    patch = MergePatch(WORKLOADS, workload.key, {"metadata": {"finalizers": kept}}, meta.resource_version)
    freed = contended_quota(_admission(workload), cluster)
    return PlannedWrite(workload.key, patch, requires_no_pods_of=meta.uid, provides=freed)


def _quota_may_be_released(workload: Workload, cluster: ClusterState, now_ms: int) -> bool:
    """Returns whether it has no pods, and no RayCluster that may still create some: each is stopped, being
    deleted, or suspended for longer than KubeRay needs to act; and for none Redis is cleaned up."""
    clusters = cluster.ray_clusters_of(workload)
    overdue = _is_overdue(workload, cluster, now_ms)
    idle = (c.suspended_and_stopped or is_being_deleted(c) or (overdue and c.suspended) for c in clusters)
    cleans_up = any(c.cleans_redis_up for c in clusters)
    return not (cluster.live_pods_of(workload) or cleans_up) and all(idle)


def _is_overdue(workload: Workload, cluster: ClusterState, now_ms: int) -> bool:
    """Returns whether KubeRay has had time to act since the job finished."""
    finished = find_condition(workload.status.conditions, FINISHED)
    by_objects_ms = now_ms - millis(finished.last_transition_time) if finished is not None else 0
    return cluster.timers.elapsed_ms("finished", workload.metadata.uid, by_objects_ms) >= SUSPENSION_MS_MAX


@dataclass(frozen=True, slots=True)
class Wanted:
    """Others, by key, and quota that workloads wait for, and whether any of them waits for nodes."""

    keys: frozenset[str]
    quota: frozenset[ContendedQuota]
    nodes: bool


def stops_for_waiting(
    finished: Iterable[Workload],
    wanted: Wanted,
    cluster: ClusterState,
    backing_off: Container[str],
    now_ms: int,
) -> Iterator[PlannedWrite]:
    """Stops gangs, `finished` with quota, whose quota is wanted or that have released it already."""
    for workload in finished:
        held = contended_quota(_admission(workload), cluster)
        of_nodes = wanted.nodes and any(not contended.tree for contended in held)
        if has_released_quota(workload) or workload.key in wanted.keys or held & wanted.quota or of_nodes:
            overdue = _is_overdue(workload, cluster, now_ms)
            writes = stop_dependents(workload, cluster, REASON, overdue=overdue)
            yield from (s for s in writes if s.subject not in backing_off)


def wanted_by(waiting: Iterable[Waiting], cluster: ClusterState) -> Wanted:
    keys: set[str] = set()
    lacking: set[tuple[str, str]] = set()  # ClusterQueue, resource
    nodes = False
    for wait in waiting:
        keys.update(wait.others)
        nodes = nodes or wait.reason is WaitReason.TOPOLOGY
        if wait.reason is WaitReason.QUOTA:
            local = cluster.local_queue_of(cluster.workloads[wait.workload])
            queue = local.spec.cluster_queue if local is not None else ""
            lacking.update((queue, shortfall.resource) for shortfall in wait.shortfalls)
    quota = (c for queue, resource in lacking for c in _contended_in(queue, resource, cluster))
    return Wanted(frozenset(keys), frozenset(quota), nodes)


def _contended_in(queue: str, resource: str, cluster: ClusterState) -> Iterator[ContendedQuota]:
    """Yields the resource in every flavor of the queue: a shortfall names only the closest one."""
    found, tree = cluster.cluster_queues.get(queue), root_of(queue, cluster)
    for group in found.spec.resource_groups if found is not None else ():
        yield from (contended(tree, flavor.name, resource, cluster) for flavor in group.flavors)


def _admission(workload: Workload) -> Admission:
    assert workload.status.admission is not None, "it holds quota"
    return workload.status.admission
