"""Determines which gangs must stop, whether they have stopped, and what prevents it.

A gang that must stop is stopped regardless of the state of its objects: rejected, being deleted, managed by
another controller, or owned by another object. Its quota is released once it has no pods and none can be
created.
"""

from collections.abc import Iterator, Sequence

from muster.cluster.cluster_state import ClusterState
from muster.cluster.job_workload import has_left_queue, is_being_deleted
from muster.cluster.jobs.job import Job, StatusReason
from muster.controller.workload import transitions
from muster.objects import workload_status
from muster.objects.core import Pod
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import find_condition, is_true, millis

# The time for KubeRay to carry out a suspension. KubeRay needs seconds, so this is also longer than any
# reconciliation that began before the suspension and still creates pods.
SUSPENSION_MS_MAX = 60_000
BLOCKED_AFTER_MS = 120_000
PODS_NAMED_MAX = 5


def cleans_redis_up(workload: Workload, job: Job | None, cluster: ClusterState) -> bool:
    """Returns whether KubeRay keeps the gang's RayCluster, which is being deleted, until Redis is cleaned
    up."""
    jobs = [*([job] if job is not None else ()), *cluster.dependents_of(workload)]
    return any(each.cleans_redis_up for each in jobs)


def must_stop(workload: Workload, job: Job | None) -> bool:
    """Returns whether the gang must not run according to the persisted status. A job that has left the queues
    and holds no quota may run."""
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


def runs(workload: Workload, job: Job | None) -> bool:
    """Returns whether the gang is admitted and its job has neither ended nor been suspended."""
    return (
        workload_status.is_admitted(workload.status)
        and job is not None
        and job.outcome is None
        and not job.suspended
        and not must_stop(workload, job)
    )


def is_stopped(workload: Workload, job: Job | None, cluster: ClusterState) -> bool:
    """Returns whether KubeRay has stopped the gang *and* no pods exist, so that it may be started again.

    KubeRay reports Suspended while the garbage collector is still deleting pods, and the RayCluster of a
    deleted job creates pods until the garbage collector deletes it."""
    return _is_reported_stopped(workload, job, cluster) and not cluster.live_pods_of(workload)


def _is_reported_stopped(workload: Workload, job: Job | None, cluster: ClusterState) -> bool:
    """Returns whether KubeRay reports every object as stopped and no Redis clean-up is in progress."""
    clusters = cluster.dependents_of(workload)
    if cleans_redis_up(workload, job, cluster):
        return False
    ended = job is None or is_being_deleted(job) or job.outcome is not None
    by_operator = ended or (job is not None and job.suspended and job.reported_stopped)
    return by_operator and all(dependent.has_stopped for dependent in clusters)


def quota_may_be_released(workload: Workload, job: Job | None, cluster: ClusterState, now_ms: int) -> bool:
    """Returns whether the gang is stopped, or has no pods and was suspended so long ago that no controller
    still acts on an older state."""
    if is_stopped(workload, job, cluster):
        return True
    ended = job is None or is_being_deleted(job) or job.outcome is not None
    suspended = ended or (job is not None and job.suspended)
    dependents_suspended = all(
        dependent.halted or is_being_deleted(dependent) for dependent in cluster.dependents_of(workload)
    )
    if not suspended or not dependents_suspended or cluster.live_pods_of(workload):
        return False
    return is_overdue(workload, cluster, now_ms)


def is_overdue(workload: Workload, cluster: ClusterState, now_ms: int) -> bool:
    """Returns whether KubeRay has not stopped the gang within SUSPENSION_MS_MAX."""
    blocked = is_true(workload.status.conditions, workload_status.SUSPENSION_BLOCKED)
    return blocked or (stopping_ms(workload, cluster, now_ms) or 0) >= SUSPENSION_MS_MAX


def stopping_ms(workload: Workload, cluster: ClusterState, now_ms: int) -> int | None:
    """Returns for how long the gang has been stopping; None if it has no pods to stop."""
    since_ms = _since_ms(workload, cluster, now_ms)
    if since_ms is None:
        return None
    return cluster.timers.elapsed_ms("must stop", workload.metadata.uid, now_ms - since_ms)


def _since_ms(workload: Workload, cluster: ClusterState, now_ms: int) -> int | None:
    """Returns since when the gang must not run, from the times in its objects: the deletion of its Workload
    or its eviction, else the creation of its oldest pod. None if there is neither."""
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
    """Parses a time of the API, rounded up, as the API truncates times to whole seconds."""
    return millis(timestamp) + 999


def with_suspension_progress(
    workload: Workload, job: Job | None, status: WorkloadStatus, cluster: ClusterState, now_ms: int
) -> tuple[WorkloadStatus, int | None]:
    """Updates the condition SuspensionBlocked. Also returns the time of its next change by time alone."""
    was_blocked = is_true(status.conditions, workload_status.SUSPENSION_BLOCKED)
    if not must_stop(workload, job) or is_stopped(workload, job, cluster):
        return (transitions.suspension_done(status, now_ms) if was_blocked else status), None
    stopping_for_ms = stopping_ms(workload, cluster, now_ms)
    # Its quota was released without KubeRay's confirmation: block a restart until KubeRay has confirmed.
    forced = workload_status.holds_quota(workload.status) and not workload_status.holds_quota(status)
    if was_blocked or forced or (stopping_for_ms or 0) >= BLOCKED_AFTER_MS:
        return _blocked(workload, status, job, cluster, now_ms), None
    if stopping_for_ms is None:
        return status, None
    remaining = (due_ms - stopping_for_ms for due_ms in (SUSPENSION_MS_MAX, BLOCKED_AFTER_MS))
    return status, now_ms + min(ms for ms in remaining if ms > 0)


def _blocked(
    workload: Workload, status: WorkloadStatus, job: Job | None, cluster: ClusterState, now_ms: int
) -> WorkloadStatus:
    obstacles = list(_obstacles(workload, job, cluster))
    message = "The gang must stop but has not stopped: " + "; ".join(o.message for o in obstacles)
    return transitions.suspension_blocked(status, obstacles[0].reason, message, now_ms)


def _obstacles(workload: Workload, job: Job | None, cluster: ClusterState) -> Iterator[StatusReason]:
    """Yields the reasons why the gang has not stopped, the most likely first; at least one."""
    objects = [*([job] if job is not None else ()), *cluster.dependents_of(workload)]
    is_explained = False
    for obj in objects:
        obstacle = obj.suspension_obstacle
        if obstacle is not None:
            is_explained = True
            yield StatusReason(obstacle.reason, f"{obj.kind} {obj.metadata.name} {obstacle.message}")
    pods = cluster.live_pods_of(workload)
    terminating = [p for p in pods if p.metadata.deletion_timestamp]
    running = [p for p in pods if not p.metadata.deletion_timestamp]
    if terminating:
        message = f"pods are still terminating: {_names(terminating)}"
        finalizers = sorted({finalizer for pod in terminating for finalizer in pod.metadata.finalizers})
        if finalizers:
            message += f", some with finalizers that must be removed: {', '.join(finalizers)}"
        yield StatusReason("PodsTerminating", message)
    if running:
        yield StatusReason("PodsRunning", f"pods are still running: {_names(running)}")
    if not is_explained and not _is_reported_stopped(workload, job, cluster):
        names = ", ".join(f"{obj.kind} {obj.metadata.name}" for obj in objects) or "the job"
        message = f"KubeRay has not suspended {names}: check its logs and events"
        yield StatusReason("OperatorNotResponding", message)


def _names(pods: Sequence[Pod]) -> str:
    names = sorted(pod.metadata.name for pod in pods)
    more = len(names) - PODS_NAMED_MAX
    return ", ".join(names[:PODS_NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
