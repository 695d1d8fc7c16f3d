"""One pass: computes the writes that move the cluster forward from the objects as the API server has them.

Pure, without I/O or a clock, so that a pass can be replayed, simulated and killed at any point. Every action
on a job follows from the *persisted* status of its Workload: what a pass decides is persisted first, and
acted on by the next pass. If the controller is killed between two writes, the next pass continues from there.
"""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace

from muster import admission as core
from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.configuration.configuration import DEFAULT, Configuration
from muster.controller.gangs import duplicate_pods, finished_gangs
from muster.controller.gangs.actions import Step, act
from muster.controller.gangs.contended_quota import contended_quota
from muster.controller.gangs.stops import restores, stops
from muster.controller.gangs.suspension import gone, has_left_queue, report
from muster.controller.passes import eligibility
from muster.controller.passes.decider import Decider, Gang
from muster.controller.passes.finalizers import finalizers, guard_of
from muster.controller.provisioning import provisioning_checks
from muster.controller.workload import job_workload, transitions
from muster.controller.workload.clock_skew import corrected
from muster.controller.workload.events import Note, on_job, status_notes, wait_note
from muster.controller.workload.lifecycle import Advanced, advance, blocked, look_at_pods, requeue_if_due
from muster.kube.kinds import WORKLOADS
from muster.kube.writes import MergePatch, Write
from muster.objects import kueue, workload_status
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import builtins, find_condition, is_true

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


@dataclass
class Pass:
    """`stops` suspend gangs that must not run, and `restores` reset templates to the user's: no reservation
    of this pass depends on them. `first` releases quota or prepares, `then` reserves: no reservation is
    written before the quota that it needs is released (Step.guards). `waits` give pending workloads the
    reason that they wait: its numbers change with every admission, so these may be written less often.
    `notices`: lasting problems that no status shows, for events. `wake_at_ms`: when the result changes by
    time alone. `preemptors`: the workload that each victim is preempted for, both by key."""

    stops: list[Step] = field(default_factory=list)
    first: list[Step] = field(default_factory=list)
    then: list[Step] = field(default_factory=list)
    restores: list[Step] = field(default_factory=list)
    waits: list[Step] = field(default_factory=list)
    notices: list[Note] = field(default_factory=list)
    wake_at_ms: int | None = None
    preemptors: Mapping[str, str] = field(default_factory=dict)


def reconcile(
    cluster: ClusterState,
    now_ms: int,
    held_back: Container[str] = (),
    configuration: Configuration = DEFAULT,
    decider: Decider | None = None,
) -> Pass:
    """`held_back`: subjects whose last write was refused, skipped for now. `decider`: kept from pass to pass;
    its cache makes a pass faster and never changes the result."""
    decider = decider or Decider(configuration.rules)
    result = Pass()
    # 1. Finalizers protect the objects that gangs hold quota of; jobs and their Workloads are synced.
    result.first += finalizers(cluster)
    result.first += _sync_jobs(cluster, held_back)
    # 2. Every Workload advances as far as its job, pods and checks allow.
    advanced = {
        key: Advanced(w.status) if key in held_back else _advance(w, cluster, configuration, now_ms)
        for key, w in cluster.workloads.items()
    }
    statuses = {key: a.status for key, a in advanced.items()}
    # 3. The core decides on the result.
    contending = [(key, w) for key, w in cluster.workloads.items() if _contends(w, statuses[key])]
    refused = {key: r for key, w in contending if (r := _refusal(w, statuses[key], cluster)) is not None}
    vacated = {s.subject: s for s in finished_gangs.releases(cluster, held_back, now_ms)}
    result.first += vacated.values()
    unchecked = {key for key, w in contending if key not in refused and _is_unchecked(w, cluster)}
    plan = decider.decide(cluster, _gangs(cluster, statuses, {*refused, *unchecked, *vacated}), now_ms)
    decided = _carry_out(plan, cluster, statuses, refused, now_ms)
    decided |= blocked(plan, statuses, configuration.wait_for_pods_ready, now_ms)
    # Workloads that are held back take part in the decision, but nothing is written for them.
    decided = {key: status for key, status in decided.items() if key not in held_back}
    # 4. Changed statuses are written: releases first, then reservations.
    _write_statuses(cluster, statuses, decided, result, now_ms)
    # 5. Jobs are stopped, started and provisioned according to their persisted Workloads.
    for key, workload in cluster.workloads.items():
        new = decided.get(key, statuses[key])
        if not _as_persisted(new, workload.status):
            continue
        # A gang that must stop is stopped even if other writes of its Workload fail.
        result.stops += (s for s in stops(workload, cluster, now_ms) if s.subject not in held_back)
        result.stops += (s for s in duplicate_pods.deletions(workload, cluster) if s.subject not in held_back)
        result.restores += (s for s in restores(workload, cluster) if s.subject not in held_back)
        if key not in held_back:
            result.first += act(workload, cluster, now_ms)
    result.first += finished_gangs.clear(cluster, plan.waiting, held_back, now_ms)
    result.notices += eligibility.without_queue(cluster)
    result.preemptors = {p.workload: p.preemptor for p in plan.preemptions}
    due = (*(w.until_ms for w in plan.waiting), *(a.until_ms for a in advanced.values()))
    result.wake_at_ms = min((at_ms for at_ms in due if at_ms is not None), default=None)
    return result


def _as_persisted(new: WorkloadStatus, old: WorkloadStatus) -> bool:
    """Whether the pass leaves both unchanged: else the persisted status could start a gang being evicted."""
    if new is old:
        return True
    told_to_leave = (workload_status.EVICTED, workload_status.DEACTIVATION_TARGET)
    same = all(is_true(new.conditions, kind) == is_true(old.conditions, kind) for kind in told_to_leave)
    moved = None not in (new.admission, old.admission) and new.admission != old.admission
    return same and not moved and new.admission_checks == old.admission_checks


def _sync_jobs(cluster: ClusterState, held_back: Container[str]) -> Iterator[Step]:
    for uid, job in cluster.jobs.items():
        workload = cluster.workload_of_job.get(uid)
        if workload is None:
            if job.outcome is None and not job.metadata.deletion_timestamp and uid not in held_back:
                create = job_workload.make_workload(job, cluster)
                message = f"Created Workload {create.body['metadata']['name']}"
                yield Step(uid, create, (on_job(job, "CreatedWorkload", message),), late=True)
        elif workload.key not in held_back and not workload_status.is_finished(workload.status):
            if workload_status.holds_quota(workload.status):
                change = job_workload.update_priority(workload, cluster)
            else:
                change = job_workload.update_workload(workload, job, cluster)
            if change is not None:
                note = on_job(job, "UpdatedWorkload", f"Updated Workload {workload.metadata.name}")
                yield Step(workload.key, change, (note,), late=True)


def _advance(
    workload: Workload, cluster: ClusterState, configuration: Configuration, now_ms: int
) -> Advanced:
    """Returns the status that follows from the objects, before the core decides."""
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
        # Its requests are deleted first: those of the next attempt have the same names.
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


def _contends(workload: Workload, status: WorkloadStatus) -> bool:
    return (
        not workload_status.holds_quota(status)
        and not workload_status.is_finished(status)
        and not workload.metadata.deletion_timestamp
    )


def _refusal(workload: Workload, status: WorkloadStatus, cluster: ClusterState) -> eligibility.Refusal | None:
    job = cluster.job_of(workload)
    if job is None or has_left_queue(job):
        return eligibility.Refusal(eligibility.MISCONFIGURED, "its job is gone or has left the queue")
    blocked = find_condition(status.conditions, workload_status.SUSPENSION_BLOCKED)
    if blocked is not None and blocked.status == "True":
        return eligibility.Refusal(eligibility.MISCONFIGURED, f"it can't start again yet: {blocked.message}")
    return eligibility.refusal(workload, job, cluster)


def _is_unchecked(workload: Workload, cluster: ClusterState) -> bool:
    job = cluster.job_of(workload)
    return job is not None and cluster.pods_refused(workload, job) is None


def _gangs(
    cluster: ClusterState, statuses: Mapping[str, WorkloadStatus], left_out: Container[str]
) -> Iterator[Gang]:
    """Yields all that hold quota or may get it; one that has just finished still holds it."""
    for key, workload in cluster.workloads.items():
        status = statuses[key]
        if key in left_out or (workload_status.is_finished(status) and not cluster.counts(workload)):
            continue
        held = status.admission if workload_status.holds_quota(status) else None
        queue = held.cluster_queue if held else _queue_name(workload, cluster)
        if queue is not None and (held is not None or not workload.metadata.deletion_timestamp):
            ranges, priority = cluster.limit_ranges_of(workload), job_workload.priority_now(workload, cluster)
            yield Gang(workload, status, queue, priority, ranges, cluster.runtime_classes)


def _queue_name(workload: Workload, cluster: ClusterState) -> str | None:
    local = cluster.local_queue_of(workload)
    return local.spec.cluster_queue if local else None


def _carry_out(
    plan: core.Plan,
    cluster: ClusterState,
    statuses: dict[str, WorkloadStatus],
    refused: dict[str, eligibility.Refusal],
    now_ms: int,
) -> dict[str, WorkloadStatus]:
    """Returns the statuses that result from the plan, for the workloads in it."""
    decided: dict[str, WorkloadStatus] = {}
    for decision in plan.admissions:
        queue = cluster.cluster_queues[decision.admission.cluster_queue]
        checks = required_checks(queue, decision.admission)
        decided[decision.workload] = transitions.reserve(
            statuses[decision.workload], decision.admission, checks, now_ms
        )
    for preemption in plan.preemptions:
        by = cluster.workloads[preemption.preemptor]
        message = (
            f"Preempted to accommodate workload {by.key} (UID: {by.metadata.uid}) of priority "
            f"{job_workload.priority_now(by, cluster)} due to {preemption.reason}"
        )
        status = statuses[preemption.workload]
        decided[preemption.workload] = transitions.preempt(status, preemption.reason, message, now_ms)
    for key in plan.displaced:
        decided[key] = transitions.evict(statuses[key], "NodeFailures", _not_replaced(statuses[key]), now_ms)
    waits = [(w.workload, WAIT_REASONS[w.reason], w.message) for w in plan.waiting]
    waits += [(key, no.reason, no.message) for key, no in refused.items()]
    for key, reason, message in waits:
        if not _says(statuses[key], reason, message):
            decided[key] = transitions.wait(statuses[key], reason, message, now_ms)
    return decided


def _says(status: WorkloadStatus, reason: str, message: str) -> bool:
    told = find_condition(status.conditions, workload_status.QUOTA_RESERVED)
    return told is not None and (told.status, told.reason, told.message) == ("False", reason, message)


def _not_replaced(status: WorkloadStatus) -> str:
    nodes = ", ".join(node.name for node in status.unhealthy_nodes)
    return f"Workload was evicted as there was no replacement for unhealthy node(s): {nodes}"


def required_checks(queue: kueue.ClusterQueue, admission: core.Admission) -> tuple[str, ...]:
    """Returns the queue's checks for the flavors of this admission; checks without flavors always apply."""
    used = {flavor for a in admission.pod_sets for flavor in a.flavors.values()}
    rules = queue.spec.admission_checks_strategy.admission_checks
    return tuple(r.name for r in rules if not r.on_flavors or used & set(r.on_flavors))


def _write_statuses(
    cluster: ClusterState,
    advanced: dict[str, WorkloadStatus],
    decided: dict[str, WorkloadStatus],
    result: Pass,
    now_ms: int,
) -> None:
    for key, workload in cluster.workloads.items():
        before, new = advanced[key], decided.get(key, advanced[key])
        if new is workload.status or new == workload.status:
            continue
        notes = tuple(status_notes(workload, new, now_ms))
        held = workload.status.admission
        released = (
            held is not None
            and workload_status.holds_quota(workload.status)
            and not workload_status.holds_quota(before)
        )
        vacated = workload.metadata.uid if released else ""
        freed = contended_quota(held, cluster) if released and held is not None else frozenset()
        if workload_status.holds_quota(new) and not workload_status.holds_quota(before):
            assert new.admission is not None
            needs = {*contended_quota(new.admission, cluster), guard_of(new.admission.cluster_queue)}
            result.then.append(Step(key, status_patch(workload, new), notes, vacated, needs=frozenset(needs)))
        elif before == workload.status and not workload_status.holds_quota(new):
            result.waits.append(Step(key, status_patch(workload, new), _wait_notes(workload, new, cluster)))
        else:
            result.first.append(Step(key, status_patch(workload, new), notes, vacated, guards=freed))


def _wait_notes(workload: Workload, new: WorkloadStatus, cluster: ClusterState) -> tuple[Note, ...]:
    """Returns the event for a new reason to wait; on the job if its user has to correct that."""
    told, job = wait_note(workload, new), cluster.job_of(workload)
    if told is not None and told.reason == eligibility.MISCONFIGURED and job is not None:
        return (on_job(job, told.reason, told.message, warning=True),)
    return (told,) if told is not None else ()


# A merge patch deletes only what it names.
NOTHING: dict[str, object] = {
    "admission": None,
    "admissionChecks": [],
    "requeueState": None,
    "accumulatedPastExecutionTimeSeconds": None,
    "unhealthyNodes": [],
}


def status_patch(workload: Workload, status: WorkloadStatus) -> Write:
    fields = {**NOTHING, **builtins(status)}
    return MergePatch(
        WORKLOADS, workload.key, {"status": fields}, workload.metadata.resource_version, status=True
    )
