"""Plans the writes of changed Workload statuses, so that quota is released before it is reserved."""

from collections.abc import Container, Iterable, Iterator, Mapping

from muster.cluster.budget_usage import leaving
from muster.cluster.cluster_state import ClusterState
from muster.cluster.elasticity import granted_counts
from muster.cluster.eligibility import MISCONFIGURED
from muster.controller.gangs.contended_quota import contended_quota
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.gangs.recorded_usage import with_usage
from muster.controller.passes.finalizers import finalizer_of
from muster.controller.passes.pass_plan import PassWrites
from muster.controller.workload import transitions
from muster.controller.workload.elastic_events import elastic_events
from muster.controller.workload.events import ObjectEvent, on_job, status_events, wait_event
from muster.kube.kinds import WORKLOADS
from muster.kube.writes import MergePatch, Write
from muster.objects.kueue import NO_STATUS, Workload, WorkloadStatus
from muster.objects.meta import builtins
from muster.objects.workload_status import holds_quota


def add_status_writes(
    writes: PassWrites,
    cluster: ClusterState,
    advanced: Mapping[str, WorkloadStatus],
    decided: Mapping[str, WorkloadStatus],
    keys: Iterable[str],
    backing_off: Container[str],
    now_ms: int,
) -> Iterator[str]:
    """Adds the changed statuses of these workloads to the writes, and yields their keys. `advanced` are the
    statuses before the decision, `decided` the statuses that it changed."""
    resources = cluster.budgeted_resources
    for key in keys:
        workload = cluster.workloads[key]
        before, new = advanced[key], decided.get(key, advanced[key])
        only_limits = transitions.without_limits(new) == transitions.without_limits(workload.status)
        if resources and key not in backing_off:
            terminating = leaving(workload, new, cluster)
            new = with_usage(workload.status, new, now_ms, resources, terminating)
        if new is workload.status or new == workload.status:
            continue
        yield key
        patch, events = status_patch(workload, new), tuple(status_events(workload, new, now_ms))
        sizes = tuple(elastic_events(workload, cluster.job_of(workload), new))
        persisted = workload.status.admission
        released = persisted is not None and holds_quota(workload.status) and not holds_quota(before)
        no_pods_of = workload.metadata.uid if released else ""
        if _reserves(before, new):
            assert new.admission is not None
            needs = {*contended_quota(new.admission, cluster), finalizer_of(new.admission.cluster_queue)}
            writes.reservations.append(PlannedWrite(key, patch, events, needs=frozenset(needs)))
        elif _grows(before, new):
            assert new.admission is not None
            quota = contended_quota(new.admission, cluster)
            writes.reservations.append(PlannedWrite(key, patch, (*events, *sizes), needs=quota))
        elif before == workload.status and not holds_quota(new):
            writes.wait_reasons.append(PlannedWrite(key, patch, _wait_events(workload, new, cluster)))
        elif only_limits:
            writes.wait_reasons.append(PlannedWrite(key, patch, sizes))
        else:
            frees = persisted is not None and (released or new.admission != persisted)
            quota = contended_quota(persisted, cluster) if frees and persisted is not None else frozenset()
            planned = PlannedWrite(key, patch, (*events, *sizes), no_pods_of, provides=quota)
            writes.before_reservations.append(planned)


def retakes_quota(workload: Workload, before: WorkloadStatus, new: WorkloadStatus) -> bool:
    """Returns whether the gang frees quota before the decision, by the status `before`, and the decision
    gives it quota again."""
    persisted = workload.status
    frees = holds_quota(persisted) and (not holds_quota(before) or before.admission != persisted.admission)
    return frees and (_reserves(before, new) or _grows(before, new))


def _reserves(before: WorkloadStatus, new: WorkloadStatus) -> bool:
    return holds_quota(new) and not holds_quota(before)


def _grows(before: WorkloadStatus, new: WorkloadStatus) -> bool:
    """Returns whether the decision gives the gang more pods than it has."""
    if before.admission is None or new.admission is None or before is new:
        return False
    counts = granted_counts(before)
    return any(count > counts.get(name, 0) for name, count in granted_counts(new).items())


def _wait_events(workload: Workload, new: WorkloadStatus, cluster: ClusterState) -> tuple[ObjectEvent, ...]:
    """Returns the event for a new reason for waiting, on the job if the user must correct the job."""
    event, job = wait_event(workload, new), cluster.job_of(workload)
    if event is not None and event.reason == MISCONFIGURED and job is not None:
        return (on_job(job, event.reason, event.message, warning=True),)
    return (event,) if event is not None else ()


_CLEARED: dict[str, object] = {
    "admission": None,
    "admissionChecks": [],
    "requeueState": None,
    "accumulatedPastExecutionTimeSeconds": None,
    "unhealthyNodes": [],
    "reclaimablePods": [],
}


def status_patch(workload: Workload, status: WorkloadStatus) -> Write:
    """Returns the write that replaces the status of a Workload."""
    # A merge patch deletes only the fields that it names.
    before = builtins(workload.status)
    fields = {name: value for name, value in _CLEARED.items() if name in before} | builtins(status)
    version, is_first = workload.metadata.resource_version, workload.status is NO_STATUS
    return MergePatch(WORKLOADS, workload.key, {"status": fields}, version, status=True, whole=is_first)
