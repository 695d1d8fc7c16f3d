"""Examines one Workload: determines everything that follows from its objects, before the core decides."""

from collections.abc import Container
from dataclasses import dataclass

from muster.cluster.candidates import Candidate, candidate, ineligibility, is_pending, is_unchecked
from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.job import StatusReason
from muster.cluster.queue_counts import Share, share_of
from muster.configuration.configuration import Configuration
from muster.controller.gangs.finished_gangs import is_finished_with_quota, quota_release
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.passes.advance import advance_workload
from muster.controller.workload.timed_status import TimedStatus
from muster.objects.kueue import Workload


@dataclass(frozen=True, slots=True)
class Examination:
    """The examination of a Workload. `advanced` is the status that follows from its job, pods and checks;
    `problem` is why it may not be queued. `candidate` is its input to the decision. `release` is the write
    that releases the quota of a finished gang; `holds_after_end`: the finished gang still holds that quota.
    `share` is its part of the counts of its queues."""

    advanced: TimedStatus
    problem: StatusReason | None = None
    candidate: Candidate | None = None
    release: PlannedWrite | None = None
    holds_after_end: bool = False
    share: Share | None = None


def examine(
    workload: Workload,
    cluster: ClusterState,
    backing_off: Container[str],
    configuration: Configuration,
    now_ms: int,
) -> Examination:
    key = workload.key
    if key in backing_off:
        advanced = TimedStatus(workload.status)
    else:
        advanced = advance_workload(workload, cluster, configuration, now_ms)
    status, problem, release = advanced.status, None, None
    holds_after_end = is_finished_with_quota(workload, cluster)
    if holds_after_end and key not in backing_off:
        release = quota_release(workload, cluster, now_ms)
    is_excluded = release is not None
    if is_pending(workload, status):
        problem = ineligibility(workload, status, cluster)
        is_excluded = is_excluded or problem is not None or is_unchecked(workload, cluster)
    decision_input = None if is_excluded else candidate(workload, status, cluster)
    share = share_of(workload, cluster)
    return Examination(advanced, problem, decision_input, release, holds_after_end, share)
