"""Syncs a job with its persisted Workload. The writes that stop it are in stops.py."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from muster.cluster import job_workload, retries
from muster.cluster.budget_usage import is_recorded
from muster.cluster.cluster_state import ClusterState
from muster.cluster.job_workload import has_left_queue
from muster.cluster.jobs.job import Job
from muster.cluster.jobs.scaling import cap_operations
from muster.cluster.jobs.templates import (
    PlacementError,
    admitted_templates,
    place_operations,
    with_labels,
)
from muster.configuration.configuration import DEFAULT, Configuration
from muster.controller.gangs import retention
from muster.controller.gangs.elastic_gangs import caps_at_start
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.gangs.stops import status_resets
from muster.controller.provisioning import growth_writes, provisioning_requests
from muster.controller.provisioning.provisioning_checks import NOT_CREATED
from muster.controller.workload import transitions
from muster.controller.workload.events import ObjectEvent, on_job, on_workload, status_events
from muster.controller.workload.suspension import is_stopped, quota_may_be_released
from muster.kube.kinds import WORKLOADS
from muster.kube.writes import Create, Delete, JsonPatch, MergePatch, remove_operation
from muster.objects import workload_status
from muster.objects.kueue import Workload
from muster.objects.kueue_checks import set_check
from muster.objects.meta import builtins, find_condition, is_true
from muster.objects.names import RESOURCE_IN_USE, RETRIED, WAIT_ANNOTATION
from muster.objects.pods import PodTemplate, read_template


def job_writes(
    workload: Workload, cluster: ClusterState, now_ms: int, configuration: Configuration = DEFAULT
) -> Iterator[PlannedWrite]:
    """Yields the writes that a Workload requires: of its job, its requests for nodes, and itself."""
    job, status = cluster.job_of(workload), workload.status
    if has_left_queue(workload, job) or workload.metadata.deletion_timestamp:
        yield from _delete_workload(workload, job, cluster, now_ms)
        return
    if job is None and not workload_status.is_finished(status):
        yield from _sync_priority(workload, cluster)
    if workload_status.is_finished(status) or (job is not None and job.outcome is not None):
        yield from _delete_requests(workload, cluster)
        yield from retention.deletions(workload, cluster, configuration.retention, now_ms)
    elif workload.spec.active and is_true(status.conditions, workload_status.DEACTIVATION_TARGET):
        inactive = {"spec": {"active": False}}
        yield PlannedWrite(
            workload.key, MergePatch(WORKLOADS, workload.key, inactive, workload.metadata.resource_version)
        )
    elif not workload_status.holds_quota(status) or workload_status.is_evicted(status):
        if (
            configuration.cleans_up_requests
            and cluster.requests_of(workload)
            and quota_may_be_released(workload, job, cluster, now_ms)
        ):
            yield from _delete_requests(workload, cluster)
        yield from _retry(workload, job, configuration, now_ms)
        yield from retention.deletions(workload, cluster, configuration.retention, now_ms)
    elif workload_status.is_admitted(status):
        # A user may have suspended it briefly: wait until the old pods are deleted.
        if job is not None and is_stopped(workload, job, cluster):
            yield from status_resets(job)
            if job.ready_to_start:
                yield from _start(workload, job, cluster, now_ms)
        yield from sync_provisioning_requests(workload, cluster, now_ms)
    else:
        yield from sync_provisioning_requests(workload, cluster, now_ms)


def _retry(
    workload: Workload, job: Job | None, configuration: Configuration, now_ms: int
) -> Iterator[PlannedWrite]:
    """Grants the retry that the job requests, if it is due. The back-off ends once the grant is persisted."""
    retry = retries.requested(workload, job, now_ms, configuration.backoff)
    if retry is None or job is None or retry.due_ms > now_ms:
        return
    body: dict[str, Any] = {"metadata": {"annotations": {RETRIED: retries.annotation(retry.granted)}}}
    if retry.activates:
        body["spec"] = {"active": True}
    message = f"Granted retry {retry.granted.count}; the next may follow at {retry.granted.next}"
    patch = MergePatch(WORKLOADS, workload.key, body, workload.metadata.resource_version)
    yield PlannedWrite(workload.key, patch, (on_job(job, "Retried", message),), deferrable=True)


def _sync_priority(workload: Workload, cluster: ClusterState) -> Iterator[PlannedWrite]:
    """Updates the priority of a Workload without a job if its WorkloadPriorityClass has a new value."""
    change = job_workload.update_priority(workload, cluster)
    if change is not None:
        yield PlannedWrite(workload.key, change, deferrable=True)


def _start(workload: Workload, job: Job, cluster: ClusterState, now_ms: int) -> Iterator[PlannedWrite]:
    """Starts the whole gang on the nodes of its admission, with a single patch."""
    try:
        targets = {
            name: with_labels(template, job.pod_labels(name))
            for name, template in admitted_templates(workload, cluster.flavors).items()
        }
        if set(targets) != {p.pod_set for p in job.pod_set_templates}:
            raise PlacementError("its pod sets changed after it was admitted")
        _check_affinity(job, targets)
    except PlacementError as conflict:
        yield _deactivate(workload, f"It can't be started: {conflict}", now_ms)
        return
    outdated = list(job.outdated_parts(targets))
    if outdated:
        for part in outdated:
            deletion = Delete(part.kind, part.metadata.key, uid=part.metadata.uid)
            yield PlannedWrite(part.metadata.uid, deletion)
        return
    resume = ({"op": "add", "path": path, "value": value} for path, value in job.resumption.items())
    placement = place_operations(job.pod_set_templates, targets, start=True)
    limits = cap_operations(job.pod_set_templates, job.sizes, caps_at_start(workload))
    reported = WAIT_ANNOTATION in job.metadata.annotations
    unreport = (remove_operation("/metadata/annotations", WAIT_ANNOTATION),) if reported else ()
    operations = (*placement, *limits, *unreport, *resume)
    write = JsonPatch(job.kind, job.metadata.key, operations, job.metadata.resource_version)
    assert workload.status.admission is not None
    queue = workload.status.admission.cluster_queue
    event = on_job(job, "Started", f"Admitted by ClusterQueue {queue}", in_status=True)
    no_pods_of = workload.metadata.uid if _ran_before(workload, job) else ""
    yield PlannedWrite(workload.key, write, (event,), no_pods_of)


def _check_affinity(job: Job, targets: Mapping[str, PodTemplate]) -> None:
    """Raises: PlacementError if the job's operator would refuse the affinity that places its pods."""
    if job.affinity_is_mutable:
        return
    for entry in job.pod_set_templates:
        if targets[entry.pod_set].spec.affinity != read_template(entry.template).spec.affinity:
            raise PlacementError(
                f"the pods of pod set {entry.pod_set!r} have nodes in several domains of a topology, which "
                f"only an affinity can name, and {job.operator.name} allows no change of it: require a "
                "topology in which the pods fit into a single domain"
            )


def _ran_before(workload: Workload, job: Job) -> bool:
    """Returns whether old pods of this Workload may exist: it was evicted, or the job still has its
    placement. For a Workload that never ran, this saves the API server a consistent list."""
    return find_condition(workload.status.conditions, workload_status.EVICTED) is not None or job.placed


def sync_provisioning_requests(
    workload: Workload, cluster: ClusterState, now_ms: int
) -> Iterator[PlannedWrite]:
    """Creates the ProvisioningRequests that the checks of a Workload with quota need, and deletes all
    others."""
    try:
        for write in provisioning_requests.unused(workload, cluster, needs_any=True):
            yield PlannedWrite(workload.key, write)
        for needed in provisioning_requests.missing(workload, cluster):
            yield from _request_writes(workload, needed)
        for needed in provisioning_requests.repairs(workload, cluster):
            yield from _request_writes(workload, needed)
        yield from _sync_growth_requests(workload, cluster, now_ms)
        for write in provisioning_requests.owner_transfers(workload, cluster):
            yield PlannedWrite(workload.key, write)
    except PlacementError as conflict:
        yield _deactivate(workload, f"It can't be provisioned: {conflict}", now_ms)


def _sync_growth_requests(workload: Workload, cluster: ClusterState, now_ms: int) -> Iterator[PlannedWrite]:
    """Requests nodes for growth, and deletes requests whose pods no longer exist. If a write fails, only
    these writes back off."""
    subject = f"{workload.metadata.uid}/growth"
    for write in growth_writes.unneeded(workload, cluster, now_ms):
        yield PlannedWrite(subject, write)
    with suppress(PlacementError):  # a flavor was deleted: running pods keep it
        for needed in growth_writes.missing(workload, cluster, now_ms):
            yield from (PlannedWrite(subject, template) for template in needed.templates)
            if needed.request is not None:
                yield PlannedWrite(subject, needed.request, _created(workload, needed.request))


def _request_writes(
    workload: Workload, needed: provisioning_requests.RequestWrites
) -> Iterator[PlannedWrite]:
    for write in (*needed.templates, *([needed.request] if needed.request else ())):
        creates = isinstance(write, Create)
        yield _create(workload, needed, write) if creates else PlannedWrite(workload.key, write)


def _create(workload: Workload, needed: provisioning_requests.RequestWrites, write: Create) -> PlannedWrite:
    """Plans the creation; if the API server refuses it, its error becomes the check's message, as in Kueue
    (handleError)."""
    name = write.body["metadata"]["name"]
    events: tuple[ObjectEvent, ...] = ()
    if write is needed.request:
        events = _created(workload, write)

    def on_refusal(why: str) -> PlannedWrite:
        message = f'{NOT_CREATED} {write.kind} "{name}": {why}'
        status = set_check(workload.status, needed.check, 0, message=message)
        body = {"status": {"admissionChecks": builtins(status.admission_checks)}}
        patch = MergePatch(WORKLOADS, workload.key, body, workload.metadata.resource_version, status=True)
        event = on_workload(workload, "FailedCreate", message, warning=True)
        return PlannedWrite(workload.key, patch, (event,))

    return PlannedWrite(workload.key, write, events, on_refusal=on_refusal)


def _created(workload: Workload, write: Create) -> tuple[ObjectEvent, ...]:
    created = f'Created ProvisioningRequest: "{write.body["metadata"]["name"]}"'
    return (on_workload(workload, "ProvisioningRequestCreated", created),)


def _delete_requests(workload: Workload, cluster: ClusterState) -> Iterator[PlannedWrite]:
    yield from (PlannedWrite(workload.key, w) for w in provisioning_requests.unused(workload, cluster))


def _deactivate(workload: Workload, message: str, now_ms: int) -> PlannedWrite:
    """Deactivates a Workload that the controller can't start, until a user reactivates it."""
    status = transitions.deactivate(workload.status, retries.FAILED_TO_START, message, now_ms)
    body = {"status": {"conditions": builtins(status.conditions)}}
    patch = MergePatch(WORKLOADS, workload.key, body, workload.metadata.resource_version, status=True)
    return PlannedWrite(workload.key, patch, tuple(status_events(workload, status, now_ms)))


def _delete_workload(
    workload: Workload, job: Job | None, cluster: ClusterState, now_ms: int
) -> Iterator[PlannedWrite]:
    """Deletes a Workload whose job was deleted or has left the queue, and then removes its finalizer."""
    if not workload.metadata.deletion_timestamp:
        yield PlannedWrite(workload.key, Delete(WORKLOADS, workload.key))
    elif RESOURCE_IN_USE in workload.metadata.finalizers and quota_may_be_released(
        workload, job, cluster, now_ms
    ):
        # The job's next Workload and its requests will have the same names: delete the old requests first.
        yield from _delete_requests(workload, cluster)
        if not cluster.requests_of(workload) and is_recorded(workload, cluster, now_ms):
            finalizers = [f for f in workload.metadata.finalizers if f != RESOURCE_IN_USE]
            body = {"metadata": {"finalizers": finalizers}}
            patch = MergePatch(WORKLOADS, workload.key, body, workload.metadata.resource_version)
            yield PlannedWrite(workload.key, patch, requires_no_pods_of=workload.metadata.uid)
