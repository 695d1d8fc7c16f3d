"""Advances a Workload as far as its job, pods and checks allow, before the core decides."""

from dataclasses import replace

from muster.cluster import ownership, retries
from muster.cluster.cluster_state import ClusterState
from muster.configuration.configuration import Configuration
from muster.controller.gangs import retention
from muster.controller.gangs.suspension import quota_may_be_released, with_suspension_progress
from muster.controller.provisioning import provisioning_checks
from muster.controller.workload import transitions
from muster.controller.workload.clock_skew import without_future_times
from muster.controller.workload.lifecycle import advance, pods_run, requeue_if_due, sync_pods_ready
from muster.controller.workload.timed_status import TimedStatus
from muster.objects import workload_status
from muster.objects.kueue import Workload


def advance_workload(
    workload: Workload, cluster: ClusterState, configuration: Configuration, now_ms: int
) -> TimedStatus:
    """Returns the status that follows from the Workload's job, pods and checks, and the time of its next
    change."""
    advanced = _advanced(workload, cluster, configuration, now_ms)
    reported = with_suspension_progress(workload, advanced.status, cluster, now_ms)
    retry = retries.requested(workload, cluster.job_of(workload), now_ms, configuration.backoff)
    retry_ms = retry.due_ms if retry is not None and retry.due_ms > now_ms else None
    retention_ms = retention.until_ms(workload, configuration.retention, now_ms)
    due = [
        at_ms for at_ms in (advanced.until_ms, reported.until_ms, retention_ms, retry_ms) if at_ms is not None
    ]
    return TimedStatus(reported.status, min(due, default=None))


def _advanced(
    workload: Workload, cluster: ClusterState, configuration: Configuration, now_ms: int
) -> TimedStatus:
    """Returns the advanced status, except for the condition SuspensionBlocked."""
    status, job = without_future_times(workload.status, now_ms), cluster.job_of(workload)
    if workload_status.is_finished(status):
        return TimedStatus(status)
    if job is not None and job.outcome is not None:
        return TimedStatus(transitions.finish(status, job.outcome, now_ms))
    without_job = job is None and ownership.job_of(workload) is None
    if not workload_status.holds_quota(status):
        if without_job and workload_status.is_just_unset(status):
            status = transitions.release(status, now_ms)
        return requeue_if_due(workload, status, cluster, now_ms)
    if workload_status.is_evicted(status):
        if without_job:  # its creator stops its pods, and unsets the reservation
            return TimedStatus(status)
        # job_writes() deletes the requests first, as the requests of the next attempt have the same names.
        if not quota_may_be_released(workload, job, cluster, now_ms) or cluster.requests_of(workload):
            return TimedStatus(status)
        return requeue_if_due(workload, transitions.release(status, now_ms), cluster, now_ms)
    if job is not None and job.kuberay_rejection is not None:
        why = f"{job.kind} {job.metadata.name} {job.kuberay_rejection.message}"
        return TimedStatus(transitions.evict(status, job.kuberay_rejection.reason, why, now_ms))
    status = provisioning_checks.sync_checks(workload, status, cluster, now_ms)
    if workload_status.is_admitted(status) and not without_job:  # its creator reports its pods
        ready = job is not None and job.running
        if configuration.wait_for_pods_ready is not None:
            ready = ready and pods_run(workload, cluster)
        status = sync_pods_ready(status, ready, now_ms)
    advanced = advance(workload, status, cluster, configuration.wait_for_pods_ready, now_ms)
    due = (advanced.until_ms, provisioning_checks.timeout_ms(workload, advanced.status, cluster))
    return replace(advanced, until_ms=min((at_ms for at_ms in due if at_ms is not None), default=None))
