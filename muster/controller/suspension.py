"""Which gangs must stop, whether they have stopped, and what prevents it.

A gang that must stop is stopped whatever its objects say: refused, being deleted, managed by another
controller, owned by another object. Its quota is released once it has no pods and no more can be created.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from muster.controller import transitions as step
from muster.controller.jobs.job import Job, Obstacle
from muster.controller.world import World
from muster.objects.core import Pod
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import find_condition, is_true, millis

# How long KubeRay has to carry out a suspension. It acts within seconds, so this also outlasts any
# reconciliation that began before the suspension and still creates pods.
OPERATOR_MS_MAX = 60_000
BLOCKED_AFTER_MS = 120_000
PODS_NAMED_MAX = 5


@dataclass(frozen=True, slots=True)
class Report:
    """A status with the progress of the suspension; `until_ms`: when it changes by time alone."""

    status: WorkloadStatus
    until_ms: int | None = None


def leaving(job: Job) -> bool:
    """Whether it is being deleted: its operator ignores it then, and does not even suspend it."""
    return bool(job.metadata.deletion_timestamp)


def has_left(job: Job | None) -> bool:
    """Whether the job may not have quota any more: gone, being deleted or no longer in a queue."""
    return job is None or leaving(job) or not job.managed


def must_stop(workload: Workload, job: Job | None) -> bool:
    """Whether the gang must not run, by what is persisted. A job outside the queues and without quota may do
    as it likes."""
    status = workload.status
    if job is None or has_left(job):
        return step.holds_quota(status)
    if step.is_finished(status) or job.outcome is not None:
        return False
    admitted = step.holds_quota(status) and step.is_admitted(status) and not step.is_evicted(status)
    return not admitted or bool(workload.metadata.deletion_timestamp)


def stopped(workload: Workload, job: Job | None, world: World) -> bool:
    """Whether its operator has stopped it *and* nothing of it is left, so that it may be started again.

    KubeRay reports Suspended while the garbage collector is still deleting pods; and the RayCluster of a
    deleted job lives on and creates pods until the garbage collector deletes it."""
    return _is_carried_out(workload, job, world) and not world.live_pods_of(workload)


def _is_carried_out(workload: Workload, job: Job | None, world: World) -> bool:
    """Whether KubeRay reports every object as stopped."""
    ended = job is None or leaving(job) or job.outcome is not None
    by_operator = ended or (job is not None and job.suspended and job.stopped)
    return by_operator and all(cluster.at_rest for cluster in world.clusters_of(workload))


def gone(workload: Workload, job: Job | None, world: World, now_ms: int) -> bool:
    """Whether its quota may be released: it is stopped, or it was told to stop so long ago that no controller
    still acts on an older state; and no pod is left."""
    if stopped(workload, job, world):
        return True
    ended = job is None or leaving(job) or job.outcome is not None
    stopping = ended or (job is not None and job.suspended)
    below = all(cluster.suspended or leaving(cluster) for cluster in world.clusters_of(workload))
    return stopping and below and not world.live_pods_of(workload) and is_late(workload, world, now_ms)


def is_late(workload: Workload, world: World, now_ms: int) -> bool:
    """Whether KubeRay has had its time to stop the gang."""
    blocked = is_true(workload.status.conditions, step.SUSPENSION_BLOCKED)
    return blocked or lasted_ms(workload, world, now_ms) >= OPERATOR_MS_MAX


def lasted_ms(workload: Workload, world: World, now_ms: int) -> int:
    """Returns for how long the gang has had to stop."""
    since_ms = _since_ms(workload, world, now_ms)
    if since_ms is None:
        return 0
    return world.durations.lasted_ms("must stop", workload.metadata.uid, now_ms - since_ms)


def _since_ms(workload: Workload, world: World, now_ms: int) -> int | None:
    """Returns since when the gang must not run, by the times in its objects: its eviction or the deletion of
    its Workload; without either, since the start of pods that it may not have. None if it has no pods."""
    status, deleted = workload.status, workload.metadata.deletion_timestamp
    evicted = find_condition(status.conditions, step.EVICTED)
    if deleted:
        return _millis(deleted)
    if step.is_evicted(status) and step.holds_quota(status) and evicted is not None:
        return _millis(evicted.last_transition_time)
    if step.holds_quota(status) and step.is_admitted(status):
        return now_ms  # it has just left its queue
    pods = world.live_pods_of(workload)
    return min((_millis(pod.metadata.creation_timestamp) for pod in pods), default=None)


def _millis(timestamp: str | None) -> int:
    """Parses a time of the API, which has whole seconds, rounded up."""
    return millis(timestamp) + 999


def report(workload: Workload, status: WorkloadStatus, world: World, now_ms: int) -> Report:
    """Returns `status` with its condition SuspensionBlocked up to date."""
    job = world.job_of(workload)
    was_blocked = is_true(status.conditions, step.SUSPENSION_BLOCKED)
    if not must_stop(workload, job) or stopped(workload, job, world):
        return Report(step.suspension_done(status, now_ms) if was_blocked else status)
    lasted = lasted_ms(workload, world, now_ms)
    # Its quota was released without KubeRay's confirmation: no restart before KubeRay has caught up.
    forced = step.holds_quota(workload.status) and not step.holds_quota(status)
    if was_blocked or forced or lasted >= BLOCKED_AFTER_MS:
        return Report(_blocked(workload, status, job, world, now_ms))
    left = (due - lasted for due in (OPERATOR_MS_MAX, BLOCKED_AFTER_MS))
    return Report(status, now_ms + min(ms for ms in left if ms > 0))


def _blocked(
    workload: Workload, status: WorkloadStatus, job: Job | None, world: World, now_ms: int
) -> WorkloadStatus:
    found = list(_obstacles(workload, job, world))
    message = "The gang must stop, and has not: " + "; ".join(o.message for o in found)
    return step.suspension_blocked(status, found[0].reason, message, now_ms)


def _obstacles(workload: Workload, job: Job | None, world: World) -> Iterator[Obstacle]:
    """Yields what keeps the gang from stopping, the likeliest cause first; at least one."""
    objects = [*([job] if job is not None else ()), *world.clusters_of(workload)]
    known = False
    for obj in objects:
        obstacle = obj.obstacle
        if obstacle is not None:
            known = True
            yield Obstacle(obstacle.reason, f"{obj.kind} {obj.metadata.name} {obstacle.message}")
    pods = world.live_pods_of(workload)
    terminating = [p for p in pods if p.metadata.deletion_timestamp]
    running = [p for p in pods if not p.metadata.deletion_timestamp]
    if terminating:
        message = f"pods that are terminating are still there: {_names(terminating)}"
        yield Obstacle("PodsTerminating", message)
    if running:
        yield Obstacle("PodsRunning", f"pods run: {_names(running)}")
    if not known and not _is_carried_out(workload, job, world):
        names = ", ".join(f"{obj.kind} {obj.metadata.name}" for obj in objects) or "the job"
        message = f"KubeRay has not acted on the suspension of {names}: check its logs and events"
        yield Obstacle("OperatorNotResponding", message)


def _names(pods: Sequence[Pod]) -> str:
    names = sorted(pod.metadata.name for pod in pods)
    more = len(names) - PODS_NAMED_MAX
    return ", ".join(names[:PODS_NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
