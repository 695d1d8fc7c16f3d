"""Handles finished gangs whose pods still run, as with a RayJob's ttlSecondsAfterFinished.

They hold their quota until their pods are deleted; the finalizer of the Workload marks that. As soon as
another workload waits for this quota, their RayClusters are suspended, as their work is done.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from muster.admission import Waiting, WaitReason
from muster.cluster.budget_usage import has_released_quota
from muster.cluster.cluster_state import ClusterState
from muster.cluster.job_workload import is_being_deleted
from muster.controller.gangs.contended_quota import ContendedQuota, contended, contended_quota, root_of
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.gangs.stops import stop_dependents
from muster.controller.workload.suspension import SUSPENSION_MS_MAX
from muster.kube.kinds import WORKLOADS
from muster.kube.writes import MergePatch
from muster.objects import workload_status
from muster.objects.kueue import Admission, Workload
from muster.objects.meta import find_condition, millis
from muster.objects.names import RESOURCE_IN_USE
from muster.objects.workload_status import FINISHED

REASON = "Its job has finished, and other workloads wait for the quota that its pods use"


def is_finished_with_quota(workload: Workload, cluster: ClusterState) -> bool:
    """Returns whether the Workload has finished and still holds its quota."""
    return workload_status.is_finished(workload.status) and cluster.counts_against_quota(workload)


def quota_release(workload: Workload, cluster: ClusterState, now_ms: int) -> PlannedWrite | None:
    """Returns the write that releases the quota of a finished gang; None while it has pods."""
    meta = workload.metadata
    if meta.deletion_timestamp or not _quota_may_be_released(workload, cluster, now_ms):
        return None
    finalizers = [f for f in meta.finalizers if f != RESOURCE_IN_USE]
    body = {"metadata": {"finalizers": finalizers}}
    patch = MergePatch(WORKLOADS, workload.key, body, meta.resource_version)
    released = contended_quota(_admission(workload), cluster)
    return PlannedWrite(workload.key, patch, requires_no_pods_of=meta.uid, provides=released)


def _quota_may_be_released(workload: Workload, cluster: ClusterState, now_ms: int) -> bool:
    """Returns whether the gang has no pods and no RayCluster that may still create pods: each is stopped,
    being deleted, or suspended for longer than KubeRay needs to act, and no Redis clean-up is in progress."""
    clusters = cluster.dependents_of(workload)
    overdue = _is_overdue(workload, cluster, now_ms)
    idle = (c.has_stopped or is_being_deleted(c) or (overdue and c.suspended) for c in clusters)
    cleans_up = any(c.cleans_redis_up for c in clusters)
    return not (cluster.live_pods_of(workload) or cleans_up) and all(idle)


def _is_overdue(workload: Workload, cluster: ClusterState, now_ms: int) -> bool:
    """Returns whether KubeRay has had enough time to act since the job finished."""
    finished = find_condition(workload.status.conditions, FINISHED)
    reported_ms = now_ms - millis(finished.last_transition_time) if finished is not None else 0
    return cluster.timers.elapsed_ms("finished", workload.metadata.uid, reported_ms) >= SUSPENSION_MS_MAX


@dataclass(frozen=True, slots=True)
class Contention:
    """The workloads and the quota that pending workloads wait for."""

    # The keys of workloads whose end they wait for.
    keys: frozenset[str]
    quota: frozenset[ContendedQuota]
    # Any of them waits for nodes of a topology.
    nodes: bool


def stops_for_waiting(
    finished: Iterable[Workload],
    contention: Contention,
    cluster: ClusterState,
    backing_off: Container[str],
    now_ms: int,
) -> Iterator[PlannedWrite]:
    """Yields writes that stop `finished` gangs with quota if others wait for it or it was already
    released."""
    for workload in finished:
        quota = contended_quota(_admission(workload), cluster)
        frees_nodes = contention.nodes and any(not contended.tree for contended in quota)
        released = has_released_quota(workload)
        if released or workload.key in contention.keys or quota & contention.quota or frees_nodes:
            overdue = _is_overdue(workload, cluster, now_ms)
            writes = stop_dependents(workload, cluster, REASON, overdue=overdue)
            yield from (s for s in writes if s.subject not in backing_off)


def contention_of(waiting: Iterable[Waiting], cluster: ClusterState) -> Contention:
    """Returns what the waiting workloads wait for."""
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
    return Contention(frozenset(keys), frozenset(quota), nodes)


def _contended_in(queue: str, resource: str, cluster: ClusterState) -> Iterator[ContendedQuota]:
    """Yields the resource in every flavor of the queue, as a shortfall names only the flavor closest to
    fitting."""
    cluster_queue, tree = cluster.cluster_queues.get(queue), root_of(queue, cluster)
    for group in cluster_queue.spec.resource_groups if cluster_queue is not None else ():
        yield from (contended(tree, flavor.name, resource, cluster) for flavor in group.flavors)


def _admission(workload: Workload) -> Admission:
    assert workload.status.admission is not None, "it holds quota"
    return workload.status.admission
