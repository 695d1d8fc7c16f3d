"""What the persisted state of a Workload asks to be done to its job."""

from collections.abc import Iterator
from dataclasses import dataclass

from muster.controller import provisioning
from muster.controller import transitions as step
from muster.controller.events import Note, on_job, on_workload
from muster.controller.jobs.job import Job
from muster.controller.templates import (
    Operation,
    PlacementError,
    admitted_templates,
    is_placed,
    place_operations,
)
from muster.controller.workloads import WHY_DEACTIVATED
from muster.controller.world import World
from muster.kube.kinds import WORKLOADS
from muster.kube.writes import Delete, JsonPatch, MergePatch, Write
from muster.objects.kueue import RESOURCE_IN_USE, Workload
from muster.objects.meta import find_condition
from muster.objects.pods import read_template


@dataclass(frozen=True, slots=True)
class Step:
    """One write, and what is told once it has happened. `subject` is the key of the Workload that it
    is about, or the UID of a job that has none yet: a refused write holds back that one alone.
    `vacated` is the UID of a Workload whose pods have to be gone by the API server's own word: what
    watches tell of jobs and of pods arrives in no order."""

    subject: str
    write: Write
    notes: tuple[Note, ...] = ()
    vacated: str = ""


def gone(workload: Workload, job: Job | None, world: World) -> bool:
    """Its operator has stopped it *and* nothing of it is left: only then may its quota be handed on.

    KubeRay says Suspended while the garbage collector is still deleting the pods, and of a job that
    was deleted the RayCluster lives on, and makes pods, until the garbage collector comes round."""
    ended = job is None or leaving(job) or job.outcome is not None
    stopped = ended or (job is not None and job.suspended and job.stopped)
    return stopped and not world.is_occupied(workload)


def leaving(job: Job) -> bool:
    """Being deleted: its operator does nothing for it any more, not even suspend it."""
    return bool(job.metadata.deletion_timestamp)


def act(workload: Workload, world: World) -> Iterator[Step]:
    job, status = world.job_of(workload), workload.status
    rejected = [c for c in status.admission_checks if c.state == step.REJECTED]
    if job is None or leaving(job) or workload.metadata.deletion_timestamp:
        yield from _let_go(workload, job, world)
    elif step.is_finished(status) or job.outcome is not None:
        yield from _give_up_requests(workload, world)
    elif not step.holds_quota(status) or step.is_evicted(status):
        yield from _keep_stopped(workload, job)
        if gone(workload, job, world):
            yield from _give_up_requests(workload, world)
    elif rejected:
        yield _deactivate(workload, f"AdmissionCheck {rejected[0].name} was rejected: {rejected[0].message}")
    elif step.is_admitted(status):
        # a user may have suspended it for a moment: what it had before has to go first
        if gone(workload, job, world):
            yield from _start(workload, job, world)
    else:
        yield from _keep_stopped(workload, job)
        yield from _provision(workload, world)


def _keep_stopped(workload: Workload, job: Job) -> Iterator[Step]:
    # a job that can't be suspended is left alone: KubeRay would let it run on as ValidationFailed
    if job.refusal is not None or job.outcome is not None:
        return
    if job.suspended and not is_placed(job.places):
        return
    back = tuple(_given_back(workload, job))
    if job.suspended:
        if back:  # a user suspended it, and did not take away what its start had added
            yield Step(workload.key, _patch(job, back))
        return
    if is_placed(job.places) and not job.start_was_seen:
        return  # nobody else gets its quota before that
    evicted = find_condition(workload.status.conditions, step.EVICTED)
    due = evicted is not None and evicted.status == "True"
    message = evicted.message if evicted is not None and due else "It has no quota and was not suspended"
    suspend = {"op": "add", "path": job.suspend_pointer, "value": True}
    yield Step(workload.key, _patch(job, (suspend, *back)), (on_job(job, "Stopped", message),))


def _given_back(workload: Workload, job: Job) -> Iterator[Operation]:
    """The templates as the user wrote them, of the pod sets that the Workload knows."""
    written = {ps.name: read_template(ps.template) for ps in workload.spec.pod_sets}
    known = tuple(p for p in job.places if p.pod_set in written)
    return place_operations(known, written, start=False)


def _patch(job: Job, operations: tuple[Operation, ...]) -> Write:
    return JsonPatch(job.kind, job.metadata.key, operations, job.metadata.resource_version)


def _start(workload: Workload, job: Job, world: World) -> Iterator[Step]:
    """Release the whole gang at once, onto the nodes of its admission."""
    try:
        targets = admitted_templates(workload, world.flavors)
        if set(targets) != {p.pod_set for p in job.places}:
            raise PlacementError("its pod sets changed after it was admitted")
    except PlacementError as conflict:
        yield _deactivate(workload, f"It can't be started: {conflict}")
        return
    resume = {"op": "add", "path": job.suspend_pointer, "value": False}
    write = _patch(job, (*place_operations(job.places, targets, start=True), resume))
    assert workload.status.admission is not None
    queue = workload.status.admission.cluster_queue
    note = on_job(job, "Started", f"Admitted by ClusterQueue {queue}")
    vacated = workload.metadata.uid if _ran_before(workload, job) else ""
    yield Step(workload.key, write, (note,), vacated)


def _ran_before(workload: Workload, job: Job) -> bool:
    """Whether pods of this very Workload may have been: it was evicted, or its job still carries its
    placement. One that never ran is spared the question: it costs the API server a consistent list."""
    return find_condition(workload.status.conditions, step.EVICTED) is not None or is_placed(job.places)


def _provision(workload: Workload, world: World) -> Iterator[Step]:
    try:
        for templates, request in provisioning.missing_requests(workload, world):
            yield from (Step(workload.key, t) for t in templates)
            name = request.body["metadata"]["name"]
            note = on_workload(workload, "ProvisioningRequestCreated", f"Created ProvisioningRequest {name}")
            yield Step(workload.key, request, (note,))
    except PlacementError as conflict:
        yield _deactivate(workload, f"It can't be provisioned: {conflict}")


def _give_up_requests(workload: Workload, world: World) -> Iterator[Step]:
    yield from (Step(workload.key, w) for w in provisioning.unused_requests(workload, world))


def _deactivate(workload: Workload, message: str) -> Step:
    """Nothing that we can do will help: out of the queue until a user sets it active again."""
    body = {"metadata": {"annotations": {WHY_DEACTIVATED: message}}, "spec": {"active": False}}
    patch = MergePatch(WORKLOADS, workload.key, body, workload.metadata.resource_version)
    return Step(workload.key, patch, (on_workload(workload, "Deactivated", message, warning=True),))


def _let_go(workload: Workload, job: Job | None, world: World) -> Iterator[Step]:
    """The job is gone or has left the queue, or somebody deleted the Workload."""
    if job is not None and not leaving(job):
        yield from _keep_stopped(workload, job)
    if not workload.metadata.deletion_timestamp:
        yield Step(workload.key, Delete(WORKLOADS, workload.key))
    elif RESOURCE_IN_USE in workload.metadata.finalizers and gone(workload, job, world):
        # the next Workload of the job has the same name, and so have its requests: these go first
        yield from _give_up_requests(workload, world)
        if not world.requests_of(workload):
            kept = [f for f in workload.metadata.finalizers if f != RESOURCE_IN_USE]
            body = {"metadata": {"finalizers": kept}}
            patch = MergePatch(WORKLOADS, workload.key, body, workload.metadata.resource_version)
            yield Step(workload.key, patch, vacated=workload.metadata.uid)
