"""Returns quota of surplus that the job no longer asks for, and reports surplus that still runs without
quota."""

from muster.cluster.cluster_state import ClusterState
from muster.cluster.elasticity import elastic_pod_sets, granted_counts, running_counts
from muster.cluster.jobs.scaling import stored_sizes, workers
from muster.controller.workload import transitions
from muster.objects import workload_status
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import find_condition, is_true, millis, rfc3339
from muster.translation import core_workload
from muster.translation.elastic import aligned, resized

REMOVAL_MS = 15_000
"""The time after the notice in which Ray's autoscaler and KubeRay remove workers."""


def with_surplus(
    workload: Workload, status: WorkloadStatus, cluster: ClusterState, now_ms: int, notice_ms: int
) -> tuple[WorkloadStatus, int | None]:
    """Lowers the counts of an admitted gang to what its job asks for, with the topology domains of the pods
    that run, and sets the condition Shrinking. Also returns the time at which pods without quota are removed;
    None if there are none."""
    elastic = elastic_pod_sets(workload, status, cluster, now_ms)
    if not elastic or workload_status.is_evicted(status) or status.admission is None:
        return status, None
    counts = granted_counts(status)
    lower = {name: max(e.minimum, e.asked) for name, e in elastic.items() if e.asked < counts[name]}
    before = core_workload.admission(status.admission)
    after = aligned(resized(before, lower), elastic)
    if after != before:
        status = transitions.resize(status, after)
        counts |= lower
    excess = {name: e.running - counts[name] for name, e in elastic.items() if e.running > counts[name]}
    shrinks = is_true(status.conditions, workload_status.SHRINKING)
    if not excess:
        return (transitions.shrunk(status, now_ms) if shrinks else status), None
    if not shrinks:
        pods = ", ".join(f"{count} of {name}" for name, count in sorted(excess.items()))
        message = f"Pods still run without quota: {pods}"
        return transitions.shrinking(status, transitions.SCALED_DOWN, message, now_ms), None
    elapsed_ms = shrinking_ms(status, now_ms)
    remaining = (due_ms - elapsed_ms for due_ms in (notice_ms, notice_ms + REMOVAL_MS))
    return status, min((now_ms + ms for ms in remaining if ms > 0), default=None)


def notice(workload: Workload, status: WorkloadStatus, cluster: ClusterState, until_ms: int) -> str:
    """Returns the workers beyond the counts of a status, which are removed from a time on; empty if there are
    none."""
    counts, sizes = granted_counts(status), stored_sizes(workload)
    excess = {
        name: count - counts[name]
        for name, count in running_counts(workload, cluster).items()
        if name in sizes and count > counts.get(name, count)
    }
    if not excess or status.admission is None:
        return ""
    groups = " and ".join(f"{workers(count)} of group {name}" for name, count in sorted(excess.items()))
    at = rfc3339(until_ms)[11:19]
    return f"Returns {groups} to ClusterQueue {status.admission.cluster_queue} by {at} UTC (notice). "


def shrinking_ms(status: WorkloadStatus, now_ms: int) -> int:
    """Returns for how long more pods have run than hold quota; 0 if that is not so."""
    condition = find_condition(status.conditions, workload_status.SHRINKING)
    if condition is None or condition.status != "True":
        return 0
    return now_ms - millis(condition.last_transition_time)
