"""Advances a Workload as far as its job, pods and checks allow, before the core decides."""

from dataclasses import replace

from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.configuration.configuration import Configuration
from muster.controller.gangs.suspension import gone, report
from muster.controller.provisioning import provisioning_checks
from muster.controller.workload import transitions
from muster.controller.workload.clock_skew import corrected
from muster.controller.workload.lifecycle import Advanced, advance, look_at_pods, requeue_if_due
from muster.objects import workload_status
from muster.objects.kueue import Workload


def advance_workload(
    workload: Workload, cluster: ClusterState, configuration: Configuration, now_ms: int
) -> Advanced:
    """Returns its status as its job, its pods and its checks determine it, before the core decides."""
    advanced = _move(workload, cluster, configuration, now_ms)
    reported = report(workload, advanced.status, cluster, now_ms)
    due = [at_ms for at_ms in (advanced.until_ms, reported.until_ms) if at_ms is not None]
    return Advanced(reported.status, min(due, default=None))


def _move(workload: Workload, cluster: ClusterState, configuration: Configuration, now_ms: int) -> Advanced:
    """Advances it as far as its job, pods and checks allow."""
    status, job = corrected(workload.status, now_ms), cluster.job_of(workload)
    if workload_status.is_finished(status):
        return Advanced(status)
    if job is not None and job.outcome is not None:
        return Advanced(transitions.finish(status, job.outcome, now_ms))
    if not workload_status.holds_quota(status):
        return Advanced(requeue_if_due(workload, status, cluster, now_ms))
    if workload_status.is_evicted(status):
        # Its requests are deleted before_reservations: those of the next attempt have the same names.
        if not gone(workload, job, cluster, now_ms) or cluster.requests_of(workload):
            return Advanced(status)
        return Advanced(requeue_if_due(workload, transitions.release(status, now_ms), cluster, now_ms))
    if job is not None and job.kuberay_rejection is not None:
        why = f"{job.kind} {job.metadata.name} {job.kuberay_rejection.message}"
        return Advanced(transitions.evict(status, job.kuberay_rejection.reason, why, now_ms))
    status = provisioning_checks.sync_checks(workload, status, cluster, now_ms)
    if workload_status.is_admitted(status):
        status = look_at_pods(status, job is not None and job.running, now_ms)
    advanced = advance(workload, status, cluster, configuration.wait_for_pods_ready, now_ms)
    due = (advanced.until_ms, provisioning_checks.timeout_ms(workload, advanced.status, cluster))
    return replace(advanced, until_ms=min((at_ms for at_ms in due if at_ms is not None), default=None))
