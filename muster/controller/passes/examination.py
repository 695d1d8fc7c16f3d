"""Examines one Workload: determines everything that follows from its objects, before the core decides."""

from collections.abc import Container
from dataclasses import dataclass

from muster.cluster.budget_usage import is_recorded
from muster.cluster.candidates import WorkloadInfo, candidate, ineligibility, is_pending, is_unchecked
from muster.cluster.cluster_state import ClusterState
from muster.cluster.elasticity import elastic_pod_sets
from muster.cluster.jobs.job import StatusReason
from muster.cluster.queue_counts import Contribution, share_of
from muster.cluster.queued_growth import growth_due_ms, nodes_by_group
from muster.configuration.configuration import Configuration
from muster.controller.gangs.finished_gangs import is_finished_with_quota, quota_release
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.workload.facts import Facts
from muster.controller.workload.lifecycle import advance
from muster.controller.workload.surplus import with_surplus
from muster.objects.kueue import Workload, WorkloadStatus


@dataclass(frozen=True, slots=True)
class Examination:
    """The examination of a Workload."""

    # Follows from its job, pods and checks.
    status: WorkloadStatus
    # The time of the status's next change by time alone; None if there is none.
    until_ms: int | None = None
    # Why the pending Workload may not get quota, regardless of the free quota.
    problem: StatusReason | None = None
    # The input to the decision; None if the decision does not consider the Workload.
    candidate: WorkloadInfo | None = None
    # Releases the quota of a finished gang.
    release: PlannedWrite | None = None
    # The gang has finished, and still holds its quota.
    holds_after_end: bool = False
    # The part of the counts of its queues.
    share: Contribution | None = None


def examine(
    workload: Workload,
    cluster: ClusterState,
    backing_off: Container[str],
    configuration: Configuration,
    now_ms: int,
) -> Examination:
    """Advances the status of a Workload; a Workload whose writes are backing off keeps its status."""
    key = workload.key
    status, until_ms = workload.status, None
    if key not in backing_off:
        status, until_ms = advance(Facts(workload, cluster, configuration, now_ms))
        status, surplus_ms = with_surplus(workload, status, cluster, now_ms, configuration.notice_ms)
        nodes_ms = growth_due_ms(nodes_by_group(workload, status, cluster, now_ms), now_ms)
        due = (until_ms, surplus_ms, nodes_ms)
        until_ms = min((ms for ms in due if ms is not None), default=None)
    problem, release = None, None
    holds_after_end = is_finished_with_quota(workload, cluster)
    if holds_after_end and key not in backing_off:
        release = quota_release(workload, cluster, now_ms) if is_recorded(workload, cluster, now_ms) else None
    is_excluded = release is not None
    if is_pending(workload, status):
        problem = ineligibility(workload, status, cluster)
        is_excluded = is_excluded or problem is not None or is_unchecked(workload, cluster)
    decision_input = None
    if not is_excluded:
        elastic = elastic_pod_sets(workload, status, cluster, now_ms)
        decision_input = candidate(workload, status, cluster, elastic)
    share = share_of(workload, cluster)
    return Examination(status, until_ms, problem, decision_input, release, holds_after_end, share)
