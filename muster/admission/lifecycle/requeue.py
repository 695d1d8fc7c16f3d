"""Requeueing of evicted workloads.

Source: Kueue pkg/controller/core/workload_controller.go (Reconcile), pkg/controller/jobframework (which
requeues preempted workloads immediately).
"""

from dataclasses import dataclass

from muster.admission.lifecycle.advance import (
    BY_CHECK,
    BY_CLUSTER_QUEUE,
    BY_JOB,
    BY_LOCAL_QUEUE,
    BY_PODS_READY,
    DEACTIVATED,
)
from muster.admission.model import StopPolicy


@dataclass(frozen=True, slots=True)
class EvictedWorkload:
    """An evicted workload without quota; `requeue_at_ms` is the end of its backoff."""

    reason: str
    active: bool = True
    requeue_at_ms: int | None = None
    job_stopped: bool = False
    cluster_queue_stop: StopPolicy = StopPolicy.NONE
    local_queue_stop: StopPolicy = StopPolicy.NONE


@dataclass(frozen=True, slots=True)
class Requeued:
    """Reason and message of the condition Requeued, as Kueue sets them."""

    reason: str
    message: str


def back_in_queue(gang: EvictedWorkload, now_ms: int) -> Requeued | None:
    """Returns why the workload is requeued; None while it is not."""
    if gang.reason.startswith(DEACTIVATED):
        return Requeued("Reactivated", "The workload was reactivated") if gang.active else None
    if gang.reason in (BY_CHECK, BY_PODS_READY):
        finished = gang.requeue_at_ms is None or gang.requeue_at_ms <= now_ms
        return Requeued("BackoffFinished", "The workload backoff was finished") if finished else None
    if gang.reason == BY_CLUSTER_QUEUE:
        return _restarted("ClusterQueue", gang.cluster_queue_stop is not StopPolicy.NONE)
    if gang.reason == BY_LOCAL_QUEUE:
        return _restarted("LocalQueue", gang.local_queue_stop is not StopPolicy.NONE)
    if gang.reason == BY_JOB:
        return _restarted("Job", gang.job_stopped)
    return Requeued(gang.reason, "The workload is back in its queue")


def _restarted(kind: str, stopped: bool) -> Requeued | None:
    if stopped:
        return None
    return Requeued(f"{kind}Restarted", f"The {kind} was restarted after being stopped")
