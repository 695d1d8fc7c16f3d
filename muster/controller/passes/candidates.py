"""Selects the Workloads that a decision considers: Workloads that hold quota or may get it."""

from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.gangs.suspension import has_left_queue
from muster.controller.jobs.job import StatusReason
from muster.controller.passes import eligibility
from muster.controller.passes.decider import Candidate
from muster.controller.workload import job_workload
from muster.objects import workload_status
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import find_condition

PENDING_EVALUATION = "PendingEvaluation"  # a reason of QuotaReserved=False


def is_pending(workload: Workload, status: WorkloadStatus) -> bool:
    return (
        not workload_status.holds_quota(status)
        and not workload_status.is_finished(status)
        and not workload.metadata.deletion_timestamp
    )


def ineligibility(workload: Workload, status: WorkloadStatus, cluster: ClusterState) -> StatusReason | None:
    """Returns why a pending Workload may not get quota now, regardless of the free quota; None if it may."""
    job = cluster.job_of(workload)
    if has_left_queue(workload, job):
        return StatusReason(eligibility.MISCONFIGURED, "its job is gone or has left the queue")
    if job is None and cluster.requests_of(workload):  # the next attempt's have the same names
        return StatusReason(
            PENDING_EVALUATION, "the ProvisioningRequests of its last admission are being deleted"
        )
    blocked = find_condition(status.conditions, workload_status.SUSPENSION_BLOCKED)
    if blocked is not None and blocked.status == "True":
        return StatusReason(eligibility.MISCONFIGURED, f"it can't be restarted yet: {blocked.message}")
    return eligibility.ineligibility(workload, job, cluster)


def is_unchecked(workload: Workload, cluster: ClusterState) -> bool:
    """Returns whether the dry run of the gang's pods has no result yet."""
    job = cluster.job_of(workload)
    return job is not None and cluster.pod_refusal(workload, job) is None


def candidate(workload: Workload, status: WorkloadStatus, cluster: ClusterState) -> Candidate | None:
    """Returns the candidate for the decision; None if the Workload neither holds quota nor may get it. A
    Workload that has just finished still holds its quota."""
    if workload_status.is_finished(status) and not cluster.counts_against_quota(workload):
        return None
    admission = status.admission if workload_status.holds_quota(status) else None
    queue = admission.cluster_queue if admission else cluster.cluster_queue_of(workload)
    if queue is None or (admission is None and workload.metadata.deletion_timestamp):
        return None
    ranges, priority = cluster.limit_ranges_of(workload), job_workload.priority_now(workload, cluster)
    return Candidate(workload, status, queue, priority, ranges, cluster.runtime_classes)
