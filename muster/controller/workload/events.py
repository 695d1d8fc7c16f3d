"""Events for Workloads and jobs about status changes, with Kueue's reasons."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from muster.admission.lifecycle import BY_CHECK, TIME_EXCEEDED
from muster.cluster.jobs.job import Job
from muster.kube.kinds import EVENTS, WORKLOADS, Kind
from muster.kube.writes import Create
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import Condition, ObjectMeta, find_condition, millis, rfc3339
from muster.objects.workload_status import SUSPENSION_BLOCKED

COMPONENT = "muster"
MESSAGE_LENGTH_MAX = 1024
NAME_PREFIX_LENGTH_MAX = 200
EVENT_REASONS = {
    "QuotaReserved": "QuotaReserved",
    "Admitted": "Admitted",
    "Preempted": "Preempted",
    "Finished": "FinishedWorkload",
}


@dataclass(frozen=True, slots=True)
class ObjectEvent:
    """An event to record after its write has succeeded."""

    kind: Kind[Any]
    regarding: ObjectMeta
    reason: str
    message: str
    warning: bool = False
    # The Workload's status has the same information, so the event may be dropped under load.
    in_status: bool = False


def on_workload(
    workload: Workload, reason: str, message: str, *, warning: bool = False, in_status: bool = False
) -> ObjectEvent:
    """Returns an event about a Workload."""
    return ObjectEvent(WORKLOADS, workload.metadata, reason, message, warning, in_status)


def on_job(
    job: Job, reason: str, message: str, *, warning: bool = False, in_status: bool = False
) -> ObjectEvent:
    """Returns an event about a job."""
    return ObjectEvent(job.kind, job.metadata, reason, message, warning, in_status)


def status_events(workload: Workload, new: WorkloadStatus, now_ms: int) -> Iterator[ObjectEvent]:
    """Yields events for conditions that became true and for checks whose state changed."""
    waited_s = (now_ms - millis(workload.metadata.creation_timestamp)) // 1000
    for condition in new.conditions:
        before = find_condition(workload.status.conditions, condition.type)
        if condition.status != "True" or (before is not None and before.status == "True"):
            continue
        if condition.type == "Evicted":
            yield on_workload(workload, f"EvictedDueTo{condition.reason}", condition.message)
        elif condition.type == "DeactivationTarget":
            yield _deactivation_event(workload, condition)
        elif condition.type == SUSPENSION_BLOCKED:
            yield on_workload(workload, condition.type, condition.message, warning=True)
        elif condition.type in EVENT_REASONS:
            message = condition.message
            if condition.type == "QuotaReserved":
                message += f", wait time since queued was {waited_s}s"
            reason = EVENT_REASONS[condition.type]
            yield on_workload(workload, reason, message, in_status=condition.type != "Preempted")
    states = {c.name: c.state for c in workload.status.admission_checks}
    for check in new.admission_checks:
        if states.get(check.name, check.state) != check.state:
            suffix = f" with message: {check.message}" if check.message else ""
            before_now = f"from {states[check.name]} to {check.state}"
            text = f"Admission check {check.name} updated state {before_now}{suffix}"
            yield on_workload(workload, "AdmissionCheckUpdated", text)


def merged(events: Iterable[ObjectEvent]) -> Iterator[ObjectEvent]:
    """Merges QuotaReserved and Admitted of the same write into one event, as each event costs the API server
    a write."""
    events = list(events)
    reserved = next((event for event in events if event.reason == "QuotaReserved"), None)
    is_admitted = any(event.reason == "Admitted" for event in events)
    for event in events:
        if event.reason == "Admitted" and reserved is not None:
            yield replace(event, message=f"{reserved.message}; {event.message}")
        elif event is not reserved or not is_admitted:
            yield event


def _deactivation_event(workload: Workload, target: Condition) -> ObjectEvent:
    seconds = workload.spec.maximum_execution_time_seconds
    if target.reason == TIME_EXCEEDED:
        message = f"The maximum execution time ({seconds}s) exceeded"
        return on_workload(workload, target.reason, message, warning=True)
    reason = "AdmissionCheckRejected" if target.reason == BY_CHECK else target.reason
    return on_workload(workload, reason, f"Deactivated due to {target.message}", warning=True)


def wait_event(workload: Workload, new: WorkloadStatus) -> ObjectEvent | None:
    """Returns an event if the reason for waiting changed; a different message with the same reason gets
    none."""
    now = find_condition(new.conditions, "QuotaReserved")
    before = find_condition(workload.status.conditions, "QuotaReserved")
    if now is None or (before is not None and before.reason == now.reason):
        return None
    is_warning = now.reason != "PendingEvaluation"
    return on_workload(workload, now.reason, now.message, warning=is_warning, in_status=True)


def create_event(event: ObjectEvent, now_ms: int) -> Create:
    """Returns the write that creates the Event."""
    namespace = event.regarding.namespace or "default"
    prefix = event.regarding.name[:NAME_PREFIX_LENGTH_MAX].rstrip(".-")  # before a dot: a letter or digit
    body = {
        "metadata": {"generateName": f"{prefix}.", "namespace": namespace},
        "involvedObject": {
            "apiVersion": event.kind.api_version,
            "kind": event.kind.name,
            "name": event.regarding.name,
            "namespace": event.regarding.namespace,
            "uid": event.regarding.uid,
        },
        "reason": event.reason,
        "message": event.message[:MESSAGE_LENGTH_MAX],
        "type": "Warning" if event.warning else "Normal",
        "source": {"component": COMPONENT},
        "firstTimestamp": rfc3339(now_ms),
        "lastTimestamp": rfc3339(now_ms),
        "count": 1,
    }
    return Create(EVENTS, body)
