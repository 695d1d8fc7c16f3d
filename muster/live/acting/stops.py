"""Writes that stop and resume queues and jobs."""

from typing import Any

from muster.cluster.jobs.job import Job
from muster.kube.kinds import Kind
from muster.kube.writes import Overwrite
from muster.objects.kueue_queues import ClusterQueue, LocalQueue
from muster.objects.names import RETRY_ANNOTATION, STOP_ANNOTATION

DRAIN, HOLD, RUN = "HoldAndDrain", "Hold", "None"  # stop policies


def stop_queue(kind: Kind[Any], queue: ClusterQueue | LocalQueue, policy: str) -> Overwrite:
    """Returns the write that sets the stop policy of a queue."""
    body = {"spec": {"stopPolicy": policy}}
    return Overwrite(kind, queue.key, body, queue.metadata.uid)


def stop_job(job: Job) -> Overwrite:
    """Returns the write that stops a job."""
    return _annotate(job, STOP_ANNOTATION, "true")


def resume_job(job: Job, now_ms: int) -> tuple[str, Overwrite]:
    """Returns a message and the write that resumes a job; a job that is not stopped is retried."""
    if STOP_ANNOTATION in job.metadata.annotations:
        return "is resumed", _annotate(job, STOP_ANNOTATION, None)
    return "will be retried; its event Retried confirms it", _annotate(job, RETRY_ANNOTATION, str(now_ms))


def _annotate(job: Job, name: str, value: str | None) -> Overwrite:
    body = {"metadata": {"annotations": {name: value}}}
    return Overwrite(job.kind, job.metadata.key, body, job.metadata.uid)
