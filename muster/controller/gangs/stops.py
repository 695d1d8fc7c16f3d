"""The writes that stop a gang: suspend the job, then the objects that KubeRay created, then delete the pods.

KubeRay (v1.6.2, v1.7.0) ignores `spec.suspend` in some states, each of which tenants can cause:

- It ignores a RayJob that is managed by another controller; that is being deleted (KubeRay removes its own
  finalizer, and the garbage collector deletes the RayCluster after the RayJob); that is in ValidationFailed,
  which it never leaves; or that is Waiting (rayjob_controller.go: Reconcile,
  updateStatusToSuspendingIfNeeded). It still reconciles the RayCluster, so that is suspended.
- It ignores a RayService that is managed by another controller, being deleted, or rejected
  (rayservice_controller.go: Reconcile). It still reconciles the RayClusters.
- It ignores a RayCluster that is managed by another controller, being deleted, or rejected
  (raycluster_controller.go: rayClusterReconcile, utils/validation.go). It then neither deletes nor replaces
  the pods, so Muster deletes them.
- It writes every status with a resource version, so a tenant that edits an object in a tight loop blocks the
  suspension. In no state does it create pods for a RayCluster with spec.suspend (reconcilePods).
"""

from collections.abc import Iterator

from muster.cluster.cluster_state import ClusterState
from muster.cluster.job_workload import has_left_queue, is_being_deleted
from muster.cluster.jobs.job import Job
from muster.cluster.jobs.scaling import cap_operations, stored_sizes
from muster.cluster.jobs.templates import Operation, place_operations
from muster.cluster.pod_sets import counts_by_pod_set
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.workload.events import on_job, on_workload
from muster.controller.workload.suspension import (
    cleans_redis_up,
    is_overdue,
    is_stopped,
    must_stop,
    runs,
)
from muster.kube.kinds import BATCH_JOBS, PODS
from muster.kube.writes import Delete, JsonPatch, Overwrite
from muster.objects import workload_status
from muster.objects.core import Pod
from muster.objects.kueue import Workload
from muster.objects.meta import ObjectMeta, find_condition, millis
from muster.objects.pods import read_template
from muster.objects.ray import NODE_TYPE_LABEL, REDIS_CLEANUP_TYPE

POD_GRACE_S = 30  # Kubernetes' default; a template may request a year


def stops(workload: Workload, cluster: ClusterState, now_ms: int) -> Iterator[PlannedWrite]:
    """Yields the writes for a gang that must stop. Each object is a separate subject, so a failed write
    delays neither the other objects nor the Workload."""
    job = cluster.job_of(workload)
    if not must_stop(workload, job) or is_stopped(workload, job, cluster):
        return
    overdue = is_overdue(workload, cluster, now_ms)
    if job is not None and not is_being_deleted(job) and job.outcome is None and not job.suspended:
        # If it is suspended before KubeRay has observed its start, KubeRay may create its pods later.
        no_pending_start = job.start_observed or not job.placed
        if no_pending_start or overdue or job.suspension_obstacle is not None:
            yield suspend(job, _reason(workload, job))
    ended = job is not None and job.outcome is not None
    if overdue or ended or (job is not None and job.suspension_obstacle is not None):
        yield from stop_dependents(workload, cluster, _reason(workload, job), overdue=overdue)


def pauses(workload: Workload, cluster: ClusterState) -> Iterator[PlannedWrite]:
    """Suspends an admitted job whose operator creates pods while old ones terminate, as the quota is for one
    set of them: between two attempts, and if pods are replaced again before the first ones have ended. It is
    then started like a job that its user has suspended (job_writes.py). KubeRay reads spec.suspend before it
    creates the RayCluster of the next attempt (rayjob_controller.go: updateStatusToSuspendingIfNeeded)."""
    job = cluster.job_of(workload)
    if job is None or not runs(workload, job):
        return
    if job.retrying and cluster.live_pods_of(workload):
        yield suspend(job, "Suspended until the pods of its last attempt have terminated")
    elif _is_replaced_again(workload, cluster):
        yield suspend(job, "Suspended until its pods have terminated: they were replaced twice before")


def _is_replaced_again(workload: Workload, cluster: ClusterState) -> bool:
    """Returns whether a pod set has more than twice as many pods as admitted, and replacements of terminating
    pods terminate too; those of a gang that shrinks have none. The Job controller replaces a pod as soon as
    its deletion begins (podReplacementPolicy)."""
    live = cluster.live_pods_of(workload)
    terminating = [pod.metadata for pod in live if pod.metadata.deletion_timestamp]
    first_ms = min((_deleted_ms(meta) for meta in terminating), default=0)
    if not any(millis(meta.creation_timestamp) > first_ms for meta in terminating):
        return False
    admission, running = workload.status.admission, counts_by_pod_set(live)
    elastic = stored_sizes(workload)  # their replacements wait for quota
    assigned = admission.pod_set_assignments if admission is not None else ()
    fixed = [a for a in assigned if a.count is not None and a.name not in elastic]
    return any(running[a.name] > 2 * (a.count or 0) for a in fixed)


def _deleted_ms(meta: ObjectMeta) -> int:
    """Returns the time at which the deletion of a terminating pod began."""
    return millis(meta.deletion_timestamp) - meta.deletion_grace_period_seconds * 1000


def stop_dependents(
    workload: Workload, cluster: ClusterState, why: str, *, overdue: bool
) -> Iterator[PlannedWrite]:
    """Suspends the objects that the operator created for the job: its RayClusters and Jobs. Deletes the pods
    if the operator is `overdue` to stop them."""
    dependents = cluster.dependents_of(workload)
    yield from (suspend(dependent, why) for dependent in dependents if not dependent.halted)
    if BATCH_JOBS not in [dependent.kind for dependent in dependents]:
        yield from _suspend_jobs(workload, cluster, overdue)
    if overdue:
        yield from _delete_pods(workload, cluster)


def status_resets(job: Job) -> Iterator[PlannedWrite]:
    """Yields the write that lets the API server accept changes of a stopped job's templates."""
    if job.status_reset is not None:
        yield PlannedWrite(f"{job.metadata.uid}/status", job.status_reset)


def template_resets(workload: Workload, cluster: ClusterState) -> Iterator[PlannedWrite]:
    """Resets the templates of a suspended job to the user's own. The patch has a resource version, as it
    replaces lists that the user may edit. If the user edits the job continuously, the placement stays, which
    affects no quota: the next start writes it again."""
    job = cluster.job_of(workload)
    if job is None or is_being_deleted(job) or job.outcome is not None or not must_stop(workload, job):
        return
    if job.status_reset is not None:
        yield from status_resets(job)
    elif job.suspended and job.placed:
        operations = tuple(_reset_operations(workload, job))
        if operations:
            meta = job.metadata
            patch = JsonPatch(job.kind, meta.key, operations, meta.resource_version)
            yield PlannedWrite(f"{meta.uid}/templates", patch)


def _reset_operations(workload: Workload, job: Job) -> Iterator[Operation]:
    """Returns operations for the pod sets that the Workload contains."""
    originals = {ps.name: read_template(ps.template) for ps in workload.spec.pod_sets}
    templates = tuple(p for p in job.pod_set_templates if p.pod_set in originals)
    yield from place_operations(templates, originals, start=False)
    limits = {name: group.max_replicas for name, group in stored_sizes(workload).items()}
    yield from cap_operations(templates, job.sizes, limits)


def suspend(job: Job, why: str) -> PlannedWrite:
    """Suspends the object regardless of its resource version: otherwise a tenant could prevent that by
    writing more often. A late write by a former leader causes no lasting harm, as an admitted gang that is
    suspended is started again."""
    write = Overwrite(job.kind, job.metadata.key, job.suspension, job.metadata.uid)
    return PlannedWrite(job.metadata.uid, write, (on_job(job, "Stopped", why),))


def _reason(workload: Workload, job: Job | None) -> str:
    evicted = find_condition(workload.status.conditions, workload_status.EVICTED)
    if evicted is not None and evicted.status == "True":
        return evicted.message
    if has_left_queue(workload, job):
        return "It has left its queue while holding quota"
    return "It has no quota but was not suspended"


def _suspend_jobs(workload: Workload, cluster: ClusterState, overdue: bool) -> Iterator[PlannedWrite]:
    """Suspends KubeRay's Jobs, which would recreate deleted pods: submitters of RayJobs, and Redis
    clean-ups that are overdue (redis_cleanup.py)."""
    cleans_up = not overdue and cleans_redis_up(workload, cluster.job_of(workload), cluster)
    for pod in cluster.live_pods_of(workload):
        owner = pod.metadata.controller
        if owner is None or owner.kind != BATCH_JOBS.name or pod.metadata.deletion_timestamp:
            continue
        if cleans_up and pod.metadata.labels.get(NODE_TYPE_LABEL) == REDIS_CLEANUP_TYPE:
            continue
        key = f"{pod.metadata.namespace}/{owner.name}"
        suspension = Overwrite(BATCH_JOBS, key, {"spec": {"suspend": True}}, owner.uid)
        yield PlannedWrite(owner.uid, suspension)


def _delete_pods(workload: Workload, cluster: ClusterState) -> Iterator[PlannedWrite]:
    """Deletes the gang's pods, except pods that are terminating with a grace period of at most
    POD_GRACE_S."""
    due = [p for p in cluster.live_pods_of(workload) if not _ends_soon(p)]
    for pod in due:
        message = f"Deleting {len(due)} pods of the gang, as KubeRay did not suspend it"
        events = (on_workload(workload, "DeletedPods", message, warning=True),) if pod is due[0] else ()
        yield PlannedWrite(pod.metadata.uid, Delete(PODS, pod.key, POD_GRACE_S), events)


def _ends_soon(pod: Pod) -> bool:
    """Returns whether the pod is terminating with a short grace period, which does not depend on synchronized
    clocks."""
    meta = pod.metadata
    return bool(meta.deletion_timestamp) and meta.deletion_grace_period_seconds <= POD_GRACE_S
