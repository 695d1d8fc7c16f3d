"""The writes that stop a gang: first its job, then what KubeRay made for it, in the end its pods.

KubeRay v1.6.2 carries out `spec.suspend`, but not in every state, and tenants can bring about each of these:

- A RayJob is left alone if spec.managedBy names somebody else; if it is being deleted (KubeRay removes its
  own finalizer, and the RayCluster goes with the garbage collector once the RayJob is gone); once its spec
  was refused, as ValidationFailed is never left again; and while it is Waiting (rayjob_controller.go:
  Reconcile, updateStatusToSuspendingIfNeeded). Its RayCluster is reconciled all the same: suspend that.
- A RayService is left alone if it is managed by somebody else, being deleted, or was refused
  (rayservice_controller.go: Reconcile); its RayClusters are reconciled too.
- A RayCluster is left alone if it is managed by somebody else, being deleted, or refused
  (raycluster_controller.go: rayClusterReconcile, utils/validation.go). Its pods are then neither deleted nor
  replaced by KubeRay, and Muster deletes them.
- KubeRay writes every status under a resource version, so whoever touches an object in a tight loop keeps it
  from going on. It makes no pod for a RayCluster with spec.suspend in any state (reconcilePods).
"""

from collections.abc import Iterator
from typing import Any

from muster.controller import transitions as step
from muster.controller.actions import Step
from muster.controller.events import on_job, on_workload
from muster.controller.jobs.job import Job
from muster.controller.suspension import has_left, is_late, leaving, must_stop, stopped
from muster.controller.templates import Operation, place_operations
from muster.controller.world import World
from muster.kube.kinds import BATCH_JOBS, PODS
from muster.kube.writes import Delete, JsonPatch, Overwrite
from muster.objects.core import Pod
from muster.objects.kueue import Workload
from muster.objects.meta import find_condition
from muster.objects.pods import read_template

POD_GRACE_S = 30  # Kubernetes' default; a template may ask for a year


def stops(workload: Workload, world: World, now_ms: int) -> Iterator[Step]:
    """What is to be written of a gang that must stop. Each object is a subject of its own: a refused write
    holds back neither the others nor the Workload."""
    job = world.job_of(workload)
    if not must_stop(workload, job) or stopped(workload, job, world):
        return
    late = is_late(workload, world, now_ms)
    if job is not None and not leaving(job) and job.outcome is None and not job.suspended:
        # stopped before KubeRay has seen its start, nobody could tell whether it is still about to start it
        started = job.start_was_seen or not job.placed
        if started or late or job.obstacle is not None:
            yield suspend(job, _reason(workload, job))
    ended = job is not None and job.outcome is not None
    if late or ended or (job is not None and job.obstacle is not None):
        yield from stop_below(workload, world, _reason(workload, job), late=late)


def stop_below(workload: Workload, world: World, why: str, *, late: bool) -> Iterator[Step]:
    """Suspends what KubeRay made for the job: its RayClusters and the Jobs that submit it. Where KubeRay is
    `late` to act on that, deletes the pods."""
    for cluster in world.clusters_of(workload):
        if not cluster.suspended:
            yield suspend(cluster, why)
    yield from _suspend_submitters(workload, world)
    if late:
        yield from _delete_pods(workload, world)


def restores(workload: Workload, world: World) -> Iterator[Step]:
    """The templates of a suspended job as its user wrote them. Under a resource version, as they lie in lists
    that belong to the user: a user who keeps changing the job goes on with what its start had added, but
    no quota waits for it. The next start writes the same again."""
    job = world.job_of(workload)
    if job is None or leaving(job) or job.outcome is not None or not must_stop(workload, job):
        return
    if job.suspended and job.placed:
        back = tuple(_given_back(workload, job))
        if back:
            meta = job.metadata
            patch = JsonPatch(job.kind, meta.key, back, meta.resource_version)
            yield Step(f"{meta.uid}/templates", patch)


def _given_back(workload: Workload, job: Job) -> Iterator[Operation]:
    """Operations for the pod sets that the Workload knows."""
    written = {ps.name: read_template(ps.template) for ps in workload.spec.pod_sets}
    known = tuple(p for p in job.places if p.pod_set in written)
    return place_operations(known, written, start=False)


def suspend(job: Job, why: str) -> Step:
    """Suspends whatever else has changed in the object: a test of its version would be lost by whoever
    writes less often than its tenant. A write that arrives late, from a replica that leads no more, does no
    lasting harm: a gang that is admitted and suspended is started again."""
    body: Any = True
    for field in reversed(job.suspend_pointer.strip("/").split("/")):
        body = {field: body}
    write = Overwrite(job.kind, job.metadata.key, body, job.metadata.uid)
    return Step(job.metadata.uid, write, (on_job(job, "Stopped", why),))


def _reason(workload: Workload, job: Job | None) -> str:
    evicted = find_condition(workload.status.conditions, step.EVICTED)
    if evicted is not None and evicted.status == "True":
        return evicted.message
    if has_left(job):
        return "It has left its queue, and held quota of it"
    return "It has no quota and was not suspended"


def _suspend_submitters(workload: Workload, world: World) -> Iterator[Step]:
    """KubeRay's Jobs that submit a RayJob: what is deleted of their pods they would make again."""
    for pod in world.live_pods_of(workload):
        submitter = pod.metadata.controller
        if submitter is None or submitter.kind != BATCH_JOBS.name or pod.metadata.deletion_timestamp:
            continue
        key = f"{pod.metadata.namespace}/{submitter.name}"
        yield Step(submitter.uid, Overwrite(BATCH_JOBS, key, {"spec": {"suspend": True}}, submitter.uid))


def _delete_pods(workload: Workload, world: World) -> Iterator[Step]:
    """Deletes the gang's pods that nobody has told to end, or that are given longer than POD_GRACE_S."""
    due = [p for p in world.live_pods_of(workload) if not _is_ending(p)]
    for pod in due:
        told = f"Deleting {len(due)} pods of the gang, as KubeRay has not suspended it"
        notes = (on_workload(workload, "DeletedPods", told, warning=True),) if pod is due[0] else ()
        yield Step(pod.metadata.uid, Delete(PODS, pod.key, POD_GRACE_S), notes)


def _is_ending(pod: Pod) -> bool:
    """By the grace period that it was given, not by when it ends: no two clocks need to agree."""
    meta = pod.metadata
    return bool(meta.deletion_timestamp) and meta.deletion_grace_period_seconds <= POD_GRACE_S
