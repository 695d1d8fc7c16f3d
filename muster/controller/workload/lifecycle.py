"""Applies the core's lifecycle rules to the status of a Workload."""

from collections.abc import Mapping

from muster.admission import Plan, StopPolicy
from muster.admission.lifecycle import (
    Admit,
    Deactivate,
    DeactivationTarget,
    Evict,
    EvictedWorkload,
    PodsReady,
    Readiness,
    ReservedWorkload,
    Stay,
    WaitForPodsReady,
    back_in_queue,
    next_action,
    readiness_after,
)
from muster.cluster import retries
from muster.cluster.cluster_state import ClusterState
from muster.controller.workload import check_states, transitions
from muster.controller.workload.timed_status import TimedStatus
from muster.kube.kinds import BATCH_JOBS
from muster.objects import workload_status
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import find_condition, is_true, millis

WAITING_FOR_PODS = "WaitingForPodsReady"  # a reason of QuotaReserved=False


def advance(
    workload: Workload,
    status: WorkloadStatus,
    cluster: ClusterState,
    wait: WaitForPodsReady | None,
    now_ms: int,
) -> TimedStatus:
    """Applies the next lifecycle action to a Workload that holds quota and is not evicted."""
    action = next_action(_reserved_workload(workload, status, cluster), wait, now_ms)
    if isinstance(action, Admit):
        status = transitions.sync_admitted(status, now_ms)
        action = next_action(_reserved_workload(workload, status, cluster), wait, now_ms)
    if isinstance(action, Evict):
        status = transitions.evict(status, action.reason, action.message, now_ms)
        if not workload.spec.active:
            return TimedStatus(transitions.without_deactivation_target(status))
        return TimedStatus(transitions.requeue_at(status, action.requeue_at_ms, counts=action.counts))
    if isinstance(action, Deactivate):
        return TimedStatus(
            transitions.deactivate(status, action.target.reason, action.target.message, now_ms)
        )
    assert isinstance(action, Stay), "only Admit is followed by a second action"
    return TimedStatus(status, action.until_ms)


def pods_run(workload: Workload, cluster: ClusterState) -> bool:
    """Returns whether all of a gang's heads and workers run. Its job doesn't show that: KubeRay reports a
    RayCluster that was ready as ready, and its RayJob as Running, after a pod was lost and while its
    replacement finds no node (v1.6.2, raycluster_controller.go: calculateStatus). Pods of Jobs don't count:
    KubeRay creates a submitter once the cluster is ready."""
    return all(
        pod.status.phase == "Running" and not pod.metadata.deletion_timestamp
        for pod in cluster.live_pods_of(workload)
        if pod.metadata.controller is None or pod.metadata.controller.kind != BATCH_JOBS.name
    )


def sync_pods_ready(status: WorkloadStatus, ready: bool, now_ms: int) -> WorkloadStatus:
    """Updates PodsReady of an admitted Workload. The condition is absent until the pods are ready for the
    first time."""
    pods = _pods(status)
    if pods is None and not ready:
        return status
    return transitions.pods_ready(status, readiness_after(pods.state if pods else None, ready), now_ms)


def requeue_if_due(
    workload: Workload, status: WorkloadStatus, cluster: ClusterState, now_ms: int
) -> TimedStatus:
    """Requeues a Workload without quota once its back-off has ended and its queues are no longer stopped."""
    if not workload.spec.active:
        return TimedStatus(transitions.without_deactivation_target(status))
    requeued = find_condition(status.conditions, workload_status.REQUEUED)
    if requeued is None or requeued.status == "True":
        return TimedStatus(status)
    cluster_stop, local_stop = _stop_policies(workload, status, cluster)
    backs_off = status.requeue_state is not None and not retries.cuts_short(workload, status)
    evicted = EvictedWorkload(
        reason=requeued.reason,
        requeue_at_ms=millis(status.requeue_state.requeue_at) if status.requeue_state and backs_off else None,
        job_stopped=_job_stopped(workload, cluster),
        cluster_queue_stop=cluster_stop,
        local_queue_stop=local_stop,
    )
    requeue = back_in_queue(evicted, now_ms)
    if requeue is not None:
        return TimedStatus(transitions.requeued(status, requeue.reason, requeue.message, now_ms))
    in_future = evicted.requeue_at_ms is not None and evicted.requeue_at_ms > now_ms
    return TimedStatus(status, evicted.requeue_at_ms if in_future else None)


def blocked_admissions(
    plan: Plan, statuses: Mapping[str, WorkloadStatus], wait: WaitForPodsReady | None, now_ms: int
) -> dict[str, WorkloadStatus]:
    """Returns new statuses for gangs that the plan admits too early for blockAdmission: gangs get quota one
    at a time, once the pods of all admitted gangs are ready. Source: Kueue waitForPodsReadyIfNeeded."""
    if wait is None or not wait.block_admission:
        return {}
    # The plan also lists second passes, which only place workloads that already hold quota.
    new = [d for d in plan.admissions if not workload_status.holds_quota(statuses[d.workload])]
    is_blocked = bool(new) and any(
        workload_status.holds_quota(s)
        and not is_true(s.conditions, workload_status.PODS_READY)
        and not workload_status.is_finished(s)
        for s in statuses.values()
    )
    too_early = new if is_blocked else new[1:]
    message = "waiting for all admitted workloads to be in PodsReady condition"
    return {
        decision.workload: transitions.wait(statuses[decision.workload], WAITING_FOR_PODS, message, now_ms)
        for decision in too_early
    }


def _reserved_workload(workload: Workload, status: WorkloadStatus, cluster: ClusterState) -> ReservedWorkload:
    cluster_stop, local_stop = _stop_policies(workload, status, cluster)
    target = find_condition(status.conditions, workload_status.DEACTIVATION_TARGET)
    return ReservedWorkload(
        key=workload.key,
        active=workload.spec.active,
        target=DeactivationTarget(target.reason, target.message) if target else None,
        job_stopped=_job_stopped(workload, cluster),
        checks=tuple(check_states.core_state(check) for check in status.admission_checks),
        cluster_queue_stop=cluster_stop,
        local_queue_stop=local_stop,
        admitted_at_ms=workload_status.admitted_at_ms(status),
        unplaced=workload_status.is_unplaced(status),
        pods=_pods(status),
        requeues=status.requeue_state.count if status.requeue_state else 0,
        max_run_s=workload.spec.maximum_execution_time_seconds,
        past_run_s=status.accumulated_past_execution_time_seconds or 0,
    )


def _pods(status: WorkloadStatus) -> PodsReady | None:
    condition = find_condition(status.conditions, workload_status.PODS_READY)
    if condition is None:
        return None
    if condition.reason in Readiness.__members__.values():
        readiness = Readiness(condition.reason)
    else:
        readiness = Readiness.STARTED if condition.status == "True" else Readiness.WAIT_FOR_START
    return PodsReady(readiness, millis(condition.last_transition_time))


def _job_stopped(workload: Workload, cluster: ClusterState) -> bool:
    job = cluster.job_of(workload)
    return job is not None and job.stop_requested


def _stop_policies(
    workload: Workload, status: WorkloadStatus, cluster: ClusterState
) -> tuple[StopPolicy, StopPolicy]:
    """Returns the stop policies of the ClusterQueue and the LocalQueue. The ClusterQueue is that of the
    reserved quota, if any; else that of the LocalQueue."""
    local = cluster.local_queue_of(workload)
    reserved_in = (
        status.admission.cluster_queue if workload_status.holds_quota(status) and status.admission else ""
    )
    queue = cluster.cluster_queues.get(reserved_in or (local.spec.cluster_queue if local else ""))
    return (
        StopPolicy(queue.spec.stop_policy) if queue else StopPolicy.NONE,
        StopPolicy(local.spec.stop_policy) if local else StopPolicy.NONE,
    )
