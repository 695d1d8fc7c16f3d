"""Writes that record the usage of Workloads for budgets (cluster/budget_usage.py)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from muster.cluster.budget_usage import counting_uids, is_recorded, usage_until, with_ended
from muster.cluster.cluster_state import ClusterState
from muster.cluster.queue_counts import usage_of
from muster.controller.gangs.finished_gangs import is_finished_with_quota, quota_release
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.workload.suspension import quota_may_be_released
from muster.kube.kinds import CLUSTER_QUEUES
from muster.kube.writes import MergePatch
from muster.objects import workload_status
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import find_condition, set_condition
from muster.objects.names import RECORDED_USAGE, RESOURCE_IN_USE
from muster.translation import recorded_usage
from muster.translation.recorded_usage import USAGE_CONDITION, EndedUsage, Leaving

NONE_LEAVE: Leaving = {}
ENDED_MAX = 200
"""The most ends that one write adds to a queue: an annotation is limited to 256 KiB."""


def with_usage(
    old: WorkloadStatus,
    new: WorkloadStatus,
    now_ms: int,
    resources: frozenset[str],
    leaving: Leaving = NONE_LEAVE,
) -> WorkloadStatus:
    """Adds the usage of the persisted reservation to the new status if that ends or changes it, or if other
    pods terminate without quota than before: `leaving` is their usage with the new status."""
    if not resources or _reservation(old) is None:
        return new
    is_same = _reservation(old) == _reservation(new)
    if is_same and recorded_usage.of_workload(old).leaving == leaving:
        return new
    usage = replace(usage_until(old, now_ms // 1000, resources), leaving=leaving)
    if not usage.queues:
        return new
    message = recorded_usage.written(usage)
    conditions = set_condition(
        new.conditions, USAGE_CONDITION, status=True, reason="Recorded", message=message, now_ms=now_ms
    )
    return replace(new, conditions=conditions)


def _reservation(status: WorkloadStatus) -> object:
    """Returns everything that the usage depends on; None without quota."""
    if not workload_status.holds_quota(status) or status.admission is None:
        return None
    reserved = find_condition(status.conditions, workload_status.QUOTA_RESERVED)
    assert reserved is not None, "it holds quota"
    admission = status.admission
    return admission.cluster_queue, usage_of(admission), reserved.last_transition_time


def ends_unrecorded(workload: Workload, cluster: ClusterState, now_ms: int) -> bool:
    """Returns whether the Workload may release its quota permanently once its usage is recorded."""
    meta = workload.metadata
    if is_recorded(workload, cluster, now_ms) or RESOURCE_IN_USE not in meta.finalizers:
        return False
    if meta.deletion_timestamp:
        return quota_may_be_released(workload, cluster.job_of(workload), cluster, now_ms)
    finished = is_finished_with_quota(workload, cluster)
    return finished and quota_release(workload, cluster, now_ms) is not None


def record_ends(ending: Iterable[Workload], cluster: ClusterState, now_ms: int) -> Iterator[PlannedWrite]:
    """Yields writes of ClusterQueues that record the usage of these Workloads, which then release their
    quota."""
    resources, now_s = cluster.budgeted_resources, now_ms // 1000
    by_queue: dict[str, dict[str, EndedUsage]] = defaultdict(dict)
    for workload in ending:
        for name, used in usage_until(workload.status, now_s, resources).queues.items():
            if name in cluster.cluster_queues and len(by_queue[name]) < ENDED_MAX:
                by_queue[name][workload.metadata.uid] = EndedUsage(until=now_s, used=used)
    counting = counting_uids(cluster) if by_queue else frozenset()
    for name, ended in sorted(by_queue.items()):
        queue = cluster.cluster_queues[name]
        usage = with_ended(recorded_usage.of_queue(queue), ended, counting, now_s)
        body = {"metadata": {"annotations": {RECORDED_USAGE: recorded_usage.written(usage)}}}
        patch = MergePatch(CLUSTER_QUEUES, name, body, queue.metadata.resource_version)
        yield PlannedWrite(f"usage of ClusterQueue {name}", patch)
