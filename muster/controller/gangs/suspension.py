"""Which gangs must stop, whether they have stopped, and what prevents it.

A gang that must stop is stopped whatever its objects say: rejected, being deleted, managed by another
controller, owned by another object. Its quota is released once it has no pods and no more can be created.
"""

from collections.abc import Iterator, Sequence

from muster.controller.cluster import ownership
from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.jobs.job import Job, StatusReason
from muster.controller.workload import transitions
from muster.controller.workload.timed_status import TimedStatus
from muster.objects import workload_status
from muster.objects.core import Pod
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import find_condition, is_true, millis

# How long KubeRay has to carry out a suspension. It acts within seconds, so this also outlasts any
# reconciliation that began before the suspension and still creates pods.
SUSPENSION_MS_MAX = 60_000
BLOCKED_AFTER_MS = 120_000
PODS_NAMED_MAX = 5


def is_being_deleted(job: Job) -> bool:
    """Returns whether it is being deleted: its operator ignores it then, and does not even suspend it."""
    return bool(job.metadata.deletion_timestamp)


def has_left_queue(workload: Workload, job: Job | None) -> bool:
    """Returns whether its job may not have quota any more: gone, being deleted or no longer in a queue. Never
    for a Workload that was created without one."""
    if job is None:
        return ownership.job_of(workload) is not None
    return is_being_deleted(job) or not job.managed


def must_stop(workload: Workload, job: Job | None) -> bool:
    """Returns whether the gang must not run, by what is persisted. A job outside the queues and without quota
    may run."""
    status = workload.status
    if has_left_queue(workload, job):
        return workload_status.holds_quota(status)
    if workload_status.is_finished(status) or (job is not None and job.outcome is not None):
        return False
    admitted = (
        workload_status.holds_quota(status)
        and workload_status.is_admitted(status)
        and not workload_status.is_evicted(status)
    )
    return not admitted or bool(workload.metadata.deletion_timestamp)


def is_stopped(workload: Workload, job: Job | None, cluster: ClusterState) -> bool:
    """Returns whether KubeRay has stopped it *and* it has no pods, so that it may be started again.

    KubeRay reports Suspended while the garbage collector is still deleting pods; and the RayCluster of a
    deleted job lives on and creates pods until the garbage collector deletes it."""
    return _is_reported_stopped(workload, job, cluster) and not cluster.live_pods_of(workload)


def _is_reported_stopped(workload: Workload, job: Job | None, cluster: ClusterState) -> bool:
    """Returns whether KubeRay reports every object as stopped, and cleans up after none."""
    clusters = cluster.ray_clusters_of(workload)
    if (job is not None and job.cleans_redis_up) or any(c.cleans_redis_up for c in clusters):
        return False
    ended = job is None or is_being_deleted(job) or job.outcome is not None
    by_operator = ended or (job is not None and job.suspended and job.reported_stopped)
    return by_operator and all(ray_cluster.suspended_and_stopped for ray_cluster in clusters)


def quota_may_be_released(workload: Workload, job: Job | None, cluster: ClusterState, now_ms: int) -> bool:
    """Returns whether it is stopped, or has no pods and was suspended so long ago that no controller still
    acts on an older state."""
    if is_stopped(workload, job, cluster):
        return True
    ended = job is None or is_being_deleted(job) or job.outcome is not None
    suspended = ended or (job is not None and job.suspended)
    dependents_suspended = all(
        ray_cluster.suspended or is_being_deleted(ray_cluster)
        for ray_cluster in cluster.ray_clusters_of(workload)
    )
    if not suspended or not dependents_suspended or cluster.live_pods_of(workload):
        return False
    return is_overdue(workload, cluster, now_ms)


def is_overdue(workload: Workload, cluster: ClusterState, now_ms: int) -> bool:
    """Returns whether KubeRay has had SUSPENSION_MS_MAX to stop the gang."""
    blocked = is_true(workload.status.conditions, workload_status.SUSPENSION_BLOCKED)
    return blocked or (stopping_ms(workload, cluster, now_ms) or 0) >= SUSPENSION_MS_MAX


def stopping_ms(workload: Workload, cluster: ClusterState, now_ms: int) -> int | None:
    """Returns for how long the gang has had to stop; None if it has no pods that it may not have."""
    since_ms = _since_ms(workload, cluster, now_ms)
    if since_ms is None:
        return None
    return cluster.timers.elapsed_ms("must stop", workload.metadata.uid, now_ms - since_ms)


def _since_ms(workload: Workload, cluster: ClusterState, now_ms: int) -> int | None:
    """Returns since when the gang must not run, by the times in its objects: its eviction or the deletion of
    its Workload; without either, since the start of pods that it may not have. None if it has no pods."""
    status, deleted = workload.status, workload.metadata.deletion_timestamp
    evicted = find_condition(status.conditions, workload_status.EVICTED)
    if deleted:
        return _millis(deleted)
    if workload_status.is_evicted(status) and workload_status.holds_quota(status) and evicted is not None:
        return _millis(evicted.last_transition_time)
    if workload_status.holds_quota(status) and workload_status.is_admitted(status):
        return now_ms  # it has just left its queue
    pods = cluster.live_pods_of(workload)
    return min((_millis(pod.metadata.creation_timestamp) for pod in pods), default=None)


def _millis(timestamp: str | None) -> int:
    """Parses a time of the API, which has whole seconds, rounded up."""
    return millis(timestamp) + 999


def with_suspension_progress(
    workload: Workload, status: WorkloadStatus, cluster: ClusterState, now_ms: int
) -> TimedStatus:
    """Returns `status` with its condition SuspensionBlocked up to date, and when that changes."""
    job = cluster.job_of(workload)
    was_blocked = is_true(status.conditions, workload_status.SUSPENSION_BLOCKED)
    if not must_stop(workload, job) or is_stopped(workload, job, cluster):
        return TimedStatus(transitions.suspension_done(status, now_ms) if was_blocked else status)
    stopping_for_ms = stopping_ms(workload, cluster, now_ms)
    # Its quota was released without KubeRay's confirmation: no restart before KubeRay has caught up.
    forced = workload_status.holds_quota(workload.status) and not workload_status.holds_quota(status)
    if was_blocked or forced or (stopping_for_ms or 0) >= BLOCKED_AFTER_MS:
        return TimedStatus(_blocked(workload, status, job, cluster, now_ms))
    if stopping_for_ms is None:
        return TimedStatus(status)
    left = (due_ms - stopping_for_ms for due_ms in (SUSPENSION_MS_MAX, BLOCKED_AFTER_MS))
    return TimedStatus(status, now_ms + min(ms for ms in left if ms > 0))


def _blocked(
    workload: Workload, status: WorkloadStatus, job: Job | None, cluster: ClusterState, now_ms: int
) -> WorkloadStatus:
    obstacles = list(_obstacles(workload, job, cluster))
    message = "The gang must stop, and has not: " + "; ".join(o.message for o in obstacles)
    return transitions.suspension_blocked(status, obstacles[0].reason, message, now_ms)


def _obstacles(workload: Workload, job: Job | None, cluster: ClusterState) -> Iterator[StatusReason]:
    """Yields what keeps the gang from stopping, the likeliest first; at least one."""
    objects = [*([job] if job is not None else ()), *cluster.ray_clusters_of(workload)]
    known = False
    for obj in objects:
        obstacle = obj.suspension_obstacle
        if obstacle is not None:
            known = True
            yield StatusReason(obstacle.reason, f"{obj.kind} {obj.metadata.name} {obstacle.message}")
    pods = cluster.live_pods_of(workload)
    terminating = [p for p in pods if p.metadata.deletion_timestamp]
    running = [p for p in pods if not p.metadata.deletion_timestamp]
    if terminating:
        message = f"pods that are terminating are still there: {_names(terminating)}"
        kept = sorted({finalizer for pod in terminating for finalizer in pod.metadata.finalizers})
        if kept:
            message += f", some of them with finalizers that have to be removed: {', '.join(kept)}"
        yield StatusReason("PodsTerminating", message)
    if running:
        yield StatusReason("PodsRunning", f"pods run: {_names(running)}")
    if not known and not _is_reported_stopped(workload, job, cluster):
        names = ", ".join(f"{obj.kind} {obj.metadata.name}" for obj in objects) or "the job"
        message = f"KubeRay has not acted on the suspension of {names}: check its logs and events"
        yield StatusReason("OperatorNotResponding", message)


def _names(pods: Sequence[Pod]) -> str:
    names = sorted(pod.metadata.name for pod in pods)
    more = len(names) - PODS_NAMED_MAX
    return ", ".join(names[:PODS_NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
