"""Deletes finished Workloads and deactivated jobs at the end of their retention.

Source: Kueue pkg/controller/core/workload_controller.go (workloadRetention) and
pkg/controller/jobframework/reconciler.go (handleWorkloadAfterDeactivatedPolicy).
"""

from collections.abc import Iterator

from muster.cluster.cluster_state import ClusterState
from muster.cluster.job_workload import is_being_deleted
from muster.configuration.configuration import Retention
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.workload.events import on_job, on_workload
from muster.controller.workload.facts import retention_end_ms
from muster.kube.kinds import WORKLOADS
from muster.kube.writes import Delete
from muster.objects.kueue import Workload
from muster.objects.workload_status import holds_quota, is_finished

REASON = "Deleted"


def deletions(
    workload: Workload, cluster: ClusterState, retention: Retention, now_ms: int
) -> Iterator[PlannedWrite]:
    """Yields the deletion of the Workload, or of its job, at the end of its retention."""
    end_ms = retention_end_ms(workload, retention)
    if end_ms is None or now_ms < end_ms:
        return
    planned = _of_workload(workload, cluster) if is_finished(workload.status) else _of_job(workload, cluster)
    if planned is not None:
        yield planned


def _of_workload(workload: Workload, cluster: ClusterState) -> PlannedWrite | None:
    if _is_needed(workload, cluster):
        return None
    event = on_workload(workload, REASON, "Deleted finished workload due to elapsed retention")
    deletion = Delete(WORKLOADS, workload.key, uid=workload.metadata.uid)
    return PlannedWrite(workload.key, deletion, (event,), deferrable=True)


def _is_needed(workload: Workload, cluster: ClusterState) -> bool:
    """Returns whether a finished Workload must be kept: without it, pods that its RayClusters create would
    not be counted, and a job that has not ended would get another Workload."""
    job = cluster.job_of(workload)
    return bool(
        workload.metadata.deletion_timestamp
        or (job is not None and job.outcome is None)
        or cluster.counts_against_quota(workload)
        or cluster.live_pods_of(workload)
        or cluster.dependents_of(workload)
        or cluster.requests_of(workload)
    )


def _of_job(workload: Workload, cluster: ClusterState) -> PlannedWrite | None:
    """Returns the deletion of a deactivated Workload's job; None while the job has pods or quota."""
    job = cluster.job_of(workload)
    if job is None or is_being_deleted(job) or holds_quota(workload.status) or cluster.live_pods_of(workload):
        return None
    event = on_job(job, REASON, "Deleted job: deactivation retention period expired")
    deletion = Delete(job.kind, job.metadata.key, uid=job.metadata.uid)
    return PlannedWrite(workload.key, deletion, (event,), deferrable=True)
