"""Applies the core's decisions to the statuses of Workloads."""

from collections.abc import Callable, Iterable, Mapping

from muster import admission as core
from muster.admission.lifecycle import WaitForPodsReady
from muster.cluster import job_workload
from muster.cluster.claims import uncounted
from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.job import StatusReason
from muster.controller.workload import transitions
from muster.controller.workload.growth import Resize
from muster.controller.workload.surplus import notice, shrinking_ms
from muster.objects import kueue_queues, workload_status
from muster.objects.kueue import WorkloadStatus
from muster.objects.meta import find_condition, is_true

WAITING_FOR_PODS = "WaitingForPodsReady"  # a reason of QuotaReserved=False
# Kueue's reasons for QuotaReserved=False, by the core's reason
WAIT_REASONS = {
    core.WaitReason.QUOTA: "WaitingForQuota",
    core.WaitReason.PREEMPTION: "WaitingForPreemptedWorkloads",
    core.WaitReason.NEVER_FITS: "ExceedsMaxQuota",
    core.WaitReason.TOPOLOGY: "TopologyPlacementFailed",
    core.WaitReason.NO_FLAVOR: "NoMatchingFlavor",
    core.WaitReason.BEHIND_HEAD: "WaitingForQuota",
    core.WaitReason.QUEUE_STOPPED: "Suspended",
    core.WaitReason.QUEUE_INACTIVE: "Misconfigured",
    core.WaitReason.BACKOFF: "PendingEvaluation",
    core.WaitReason.BUDGET: "WaitingForQuota",
    core.WaitReason.RESERVED: "WaitingForQuota",
    core.WaitReason.CHECK_FAILED: "PendingEvaluation",
    core.WaitReason.REFUSED: "Misconfigured",
    core.WaitReason.GATED: "AdmissionGated",
}


def decided_statuses(
    plan: core.Plan,
    resizes: Mapping[str, Resize],
    waiting_of: Callable[[str], core.Waiting | None],
    cluster: ClusterState,
    statuses: Mapping[str, WorkloadStatus],
    ineligible: Mapping[str, StatusReason],
    evaluated: Iterable[str],
    now_ms: int,
    notice_ms: int,
) -> dict[str, WorkloadStatus]:
    """Returns the statuses that result from a decision: of the workloads in its plan, of gangs with more or
    less surplus, and of pending workloads among `evaluated` whose reason for waiting has changed.

    `waiting_of` returns why a workload waits."""
    decided: dict[str, WorkloadStatus] = {}
    for admitted in plan.admissions:
        queue = cluster.cluster_queues[admitted.admission.cluster_queue]
        checks = required_checks(queue, admitted.admission)
        decided[admitted.workload] = transitions.reserve(
            statuses[admitted.workload],
            admitted.admission,
            checks,
            now_ms,
            uncounted(cluster.workloads[admitted.workload], queue, cluster),
        )
    for preemption in plan.preemptions:
        status, message = statuses[preemption.workload], _preempted(preemption, cluster)
        decided[preemption.workload] = transitions.preempt(status, preemption.reason, message, now_ms)
    for key, resize in resizes.items():
        decided[key] = transitions.resize(statuses[key], resize.admission)
        if resize.preemptions:
            decided[key] = _shrinking(decided[key], resize.preemptions[0], cluster, now_ms, notice_ms)
    for key in plan.displaced:
        decided[key] = transitions.evict(statuses[key], "NodeFailures", _not_replaced(statuses[key]), now_ms)
    waiting = map(waiting_of, evaluated)
    reasons = [(w.workload, WAIT_REASONS[w.reason], w.message) for w in waiting if w is not None]
    reasons += [(key, problem.reason, problem.message) for key, problem in ineligible.items()]
    for key, reason, message in reasons:
        if not _reports(statuses[key], reason, message):
            decided[key] = transitions.wait(statuses[key], reason, message, now_ms)
    return decided


def _shrinking(
    status: WorkloadStatus, preemption: core.Preemption, cluster: ClusterState, now_ms: int, notice_ms: int
) -> WorkloadStatus:
    """Sets Shrinking with the end of the notice, which an earlier preemption may have begun."""
    why = _preempted(preemption, cluster)
    status = transitions.shrinking(status, preemption.reason, why, now_ms)
    until_ms = now_ms - shrinking_ms(status, now_ms) + notice_ms
    message = notice(cluster.workloads[preemption.workload], status, cluster, until_ms) + why
    return transitions.shrinking(status, preemption.reason, message, now_ms)


def _preempted(preemption: core.Preemption, cluster: ClusterState) -> str:
    preemptor = cluster.workloads[preemption.preemptor]
    budget = f", as {preemption.budget}" if preemption.budget else ""
    return (
        f"Preempted to accommodate workload {preemptor.key} (UID: {preemptor.metadata.uid}) of priority "
        f"{job_workload.priority_now(preemptor, cluster)} due to {preemption.reason}{budget}"
    )


def _reports(status: WorkloadStatus, reason: str, message: str) -> bool:
    reserved = find_condition(status.conditions, workload_status.QUOTA_RESERVED)
    if reserved is None:
        return False
    return (reserved.status, reserved.reason, reserved.message) == ("False", reason, message)


def _not_replaced(status: WorkloadStatus) -> str:
    nodes = ", ".join(node.name for node in status.unhealthy_nodes)
    return f"Workload was evicted as there was no replacement for unhealthy node(s): {nodes}"


def required_checks(queue: kueue_queues.ClusterQueue, admission: core.Admission) -> tuple[str, ...]:
    """Returns the names of the queue's checks for the flavors of this admission; checks without flavors apply
    to all."""
    used = {flavor for a in admission.pod_sets for flavor in a.flavors.values()}
    rules = queue.spec.admission_checks_strategy.admission_checks
    return tuple(r.name for r in rules if not r.on_flavors or used & set(r.on_flavors))


def blocked_admissions(
    plan: core.Plan, statuses: Mapping[str, WorkloadStatus], wait: WaitForPodsReady | None, now_ms: int
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
