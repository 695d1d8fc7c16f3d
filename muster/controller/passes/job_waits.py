"""Reports why a job waits in an annotation and an event of the job, so that users need not read Workloads."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from muster.cluster.cluster_state import ClusterState
from muster.cluster.eligibility import MISCONFIGURED, queues_in
from muster.cluster.jobs.job import Job
from muster.cluster.queue_counts import INADMISSIBLE, queue_of
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.workload.events import ObjectEvent, on_job
from muster.kube.writes import Overwrite
from muster.objects import workload_status
from muster.objects.kueue import Workload
from muster.objects.kueue_checks import READY
from muster.objects.meta import find_condition, rfc3339
from muster.objects.names import QUEUE_LABEL, WAIT_ANNOTATION

WAITING_FOR_CHECKS = "WaitingForAdmissionChecks"
MESSAGE_LENGTH_MAX = 1000
ANNOTATION_LENGTH_MAX = 8 * MESSAGE_LENGTH_MAX  # longer annotations are not the controller's


@dataclass(frozen=True, slots=True)
class JobWait:
    """The reason why a job waits."""

    # The reason of the Workload's condition.
    reason: str
    message: str
    # The ClusterQueue.
    queue: str = ""
    # Starts at 1; None if the workload is not queued.
    position: int | None = None

    def annotation(self, now_ms: int) -> str:
        """Returns the value of WAIT_ANNOTATION."""
        fields = {"reason": self.reason, "message": self.message, "queue": self.queue}
        return json.dumps({**fields, "position": self.position, "at": rfc3339(now_ms)})

    @property
    def sentence(self) -> str:
        """The message of the job's event."""
        if self.position is None:
            return self.message
        return f"position {self.position} in ClusterQueue {self.queue}: {self.message}"


def wait_of(workload: Workload, job: Job, cluster: ClusterState) -> JobWait | None:
    """Returns why the job waits, or its worker groups do not grow, without its position, from its persisted
    status; None if it does not wait or the reason is not known yet."""
    status = workload.status
    if workload_status.is_finished(status) or job.outcome is not None:
        return None
    queue = queue_of(workload, cluster)
    evicted = find_condition(status.conditions, workload_status.EVICTED)
    reserved = find_condition(status.conditions, workload_status.QUOTA_RESERVED)
    if not workload_status.holds_quota(status):
        if reserved is None or reserved.status == "True":
            return None
        return JobWait(reserved.reason, reserved.message[:MESSAGE_LENGTH_MAX], queue)
    if evicted is not None and evicted.status == "True":
        message = f"is being stopped: {evicted.message}"
        return JobWait(evicted.reason, message[:MESSAGE_LENGTH_MAX], queue)
    if workload_status.is_admitted(status):
        limited = find_condition(status.conditions, workload_status.GROWTH_LIMITED)
        if limited is None or limited.status != "True":
            return None
        return JobWait(workload_status.GROWTH_LIMITED, limited.message[:MESSAGE_LENGTH_MAX], queue)
    pending = (c for c in status.admission_checks if c.state != READY)
    checks = "; ".join(f"{check.name}: {check.message or check.state}" for check in pending)
    message = f"has its quota, and waits for admission checks: {checks}" if checks else "has its quota"
    return JobWait(WAITING_FOR_CHECKS, message[:MESSAGE_LENGTH_MAX], queue)


class AnnotatedWait(msgspec.Struct, frozen=True):
    """The content of a job's annotation. The reason is empty without an annotation, and "?" if it can't be
    parsed."""

    reason: str
    message: str = ""


_UNREADABLE = AnnotatedWait("?")


def annotated_wait(job: Job) -> AnnotatedWait:
    """Returns the reason and the message in the job's annotation."""
    text = job.metadata.annotations.get(WAIT_ANNOTATION)
    if text is None:
        return AnnotatedWait("")
    if len(text) > ANNOTATION_LENGTH_MAX:
        return _UNREADABLE
    try:
        parsed = msgspec.json.decode(text, type=AnnotatedWait)
    except msgspec.DecodeError:
        return _UNREADABLE
    return parsed if parsed.reason else _UNREADABLE


def annotate(job: Job, wait: JobWait | None, now_ms: int, *, with_event: bool) -> PlannedWrite:
    """Returns the write that sets the annotation, or removes it if the job does not wait. For a misconfigured
    job it has no event, as the status change of the Workload has one."""
    text = None if wait is None else wait.annotation(now_ms)
    body = {"metadata": {"annotations": {WAIT_ANNOTATION: text}}}
    write = Overwrite(job.kind, job.metadata.key, body, job.metadata.uid)
    events: tuple[ObjectEvent, ...] = ()
    if wait is not None and with_event and wait.reason != MISCONFIGURED:
        events = (on_job(job, wait.reason, wait.sentence, warning=wait.reason in INADMISSIBLE),)
    return PlannedWrite(f"{job.metadata.uid}/wait", write, events)


def empty_queue_labels(cluster: ClusterState) -> Iterator[ObjectEvent]:
    """Yields an event for each job with an empty queue label, which stays suspended without any other
    message."""
    for job in cluster.jobs_with_empty_queue_label:
        namespace = job.metadata.namespace
        choice = queues_in(namespace, cluster)
        message = (
            f"label {QUEUE_LABEL} is empty, so the job is in no queue and stays suspended: set it to "
            f"a LocalQueue of namespace {namespace} (choose one of {choice}), or remove it to run outside "
            "the queues"
        )
        yield on_job(job, MISCONFIGURED, message, warning=True)
