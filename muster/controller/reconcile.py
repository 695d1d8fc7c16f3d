"""One pass: from the world as the API server has it to the writes that bring it on.

Pure: no I/O and no clock, so that a pass can be replayed, simulated and killed anywhere. Whatever is
done to jobs follows from what is *persisted* in their Workloads; what the pass decides is persisted
first and acted on by the next pass. Killed between any two writes, the next pass goes on from there.
"""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field

from muster import admission as core
from muster.controller import eligibility, provisioning, workloads
from muster.controller import transitions as step
from muster.controller.actions import Step, act, gone, leaving
from muster.controller.events import on_job, status_notes, wait_note
from muster.controller.world import World
from muster.kube.kinds import WORKLOADS
from muster.kube.writes import MergePatch, Write
from muster.objects import gangs, kueue, snapshot
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import builtins

# Kueue's reasons for QuotaReserved=False, by the core's
WAIT_REASONS = {
    core.WaitReason.QUOTA: "WaitingForQuota",
    core.WaitReason.PREEMPTION: "WaitingForPreemptedWorkloads",
    core.WaitReason.NEVER_FITS: "ExceedsMaxQuota",
    core.WaitReason.NO_FLAVOR: "NoMatchingFlavor",
    core.WaitReason.BEHIND_HEAD: "WaitingForQuota",
    core.WaitReason.QUEUE_STOPPED: "Suspended",
    core.WaitReason.QUEUE_INACTIVE: "Misconfigured",
    core.WaitReason.BACKOFF: "PendingEvaluation",
}


@dataclass
class Pass:
    """`first` gives back or prepares, `then` hands out: reservations are written only once all of
    `first` is. `waits` tell pending workloads why they wait: their numbers change with every
    admission, so they may be written less often than they change. `wake_at_ms`: when time alone
    will change the outcome. `preemptors`: for whom workloads are preempted, both by key."""

    first: list[Step] = field(default_factory=list)
    then: list[Step] = field(default_factory=list)
    waits: list[Step] = field(default_factory=list)
    wake_at_ms: int | None = None
    preemptors: Mapping[str, str] = field(default_factory=dict)


def reconcile(world: World, now_ms: int, held_back: Container[str] = ()) -> Pass:
    """`held_back`: keys of objects whose last write was refused; they are left as they are for now."""
    result = Pass()
    # 1. Jobs and their Workloads keep in step.
    result.first += _sync_jobs(world, held_back)
    # 2. Every Workload moves as far as its job, its pods and its checks allow.
    statuses = {
        w.key: w.status if w.key in held_back else _advance(w, world, now_ms)
        for w in world.workloads.values()
    }
    # 3. The core decides over what is left.
    standing = [w for w in world.workloads.values() if _contends(w, statuses[w.key])]
    refused = {w.key: r for w in standing if (r := _refusal(w, statuses[w.key], world)) is not None}
    plan = core.decide(_snapshot(world, statuses, refused), now_ms)
    decided = _carry_out(plan, world, statuses, refused, now_ms)
    # Who is held back has a say in what the others get, but nothing is written on it.
    decided = {key: status for key, status in decided.items() if key not in held_back}
    # 4. What changed is written: releases first, reservations only after them.
    _write_statuses(world, statuses, decided, result, now_ms)
    # 5. Jobs are stopped, started and provided for as their persisted Workloads say.
    for workload in world.workloads.values():
        new = decided.get(workload.key, statuses[workload.key])
        if workload.key not in held_back and _as_persisted(new, workload.status):
            result.first += act(workload, world)
    result.preemptors = {p.workload: p.preemptor for p in plan.preemptions}
    result.wake_at_ms = min((w.until_ms for w in plan.waiting if w.until_ms is not None), default=None)
    return result


def _as_persisted(new: WorkloadStatus, old: WorkloadStatus) -> bool:
    """Else what is persisted is out of date, and would start what this very pass sends away."""
    return step.is_evicted(new) == step.is_evicted(old) and new.admission_checks == old.admission_checks


def _sync_jobs(world: World, held_back: Container[str]) -> Iterator[Step]:
    for uid, job in world.jobs.items():
        workload = world.workload_of_job.get(uid)
        if workload is None:
            if job.outcome is None and not job.metadata.deletion_timestamp and uid not in held_back:
                create = workloads.make_workload(job, world)
                message = f"Created Workload {create.body['metadata']['name']}"
                yield Step(uid, create, (on_job(job, "CreatedWorkload", message),))
        elif workload.key not in held_back and not step.holds_quota(workload.status):
            change = workloads.update_workload(workload, job, world)
            if change is not None and not step.is_finished(workload.status):
                yield Step(workload.key, change)


def _advance(workload: Workload, world: World, now_ms: int) -> WorkloadStatus:
    """The status that follows from what is there, before anything is decided."""
    status, job = workload.status, world.job_of(workload)
    if step.is_finished(status):
        return status
    if job is not None and job.outcome is not None:
        return step.finish(status, job.outcome, now_ms)
    if not step.holds_quota(status):
        return status
    if step.is_evicted(status):
        # its requests go first: those of the next try have the same names
        left = not gone(workload, job, world) or world.requests_of(workload)
        return status if left else step.release(status, now_ms)
    if not workload.spec.active:
        return step.evict(status, "Deactivated", "The workload is deactivated", now_ms)
    stopped = _stopped(workload, status, world)
    if stopped is not None:
        return step.evict(status, stopped.reason, stopped.message, now_ms)
    status = provisioning.sync_checks(workload, status, world, now_ms)
    asked_again = [c for c in status.admission_checks if c.state == step.RETRY]
    if asked_again:
        message = f"AdmissionCheck {asked_again[0].name}: {asked_again[0].message}"
        return step.evict(step.retry_later(status, now_ms), "AdmissionCheck", message, now_ms)
    status = step.sync_admitted(status, now_ms)
    ready = job is not None and job.running and step.is_admitted(status)
    return step.pods_ready(status, ready, now_ms)


def _stopped(workload: Workload, status: WorkloadStatus, world: World) -> eligibility.Refusal | None:
    """Why its queue lets it go: a held queue cancels what has not been admitted yet, a drained
    LocalQueue everything. (What a drained ClusterQueue lets go, the core says.)"""
    assert status.admission is not None
    queue = world.cluster_queues.get(status.admission.cluster_queue)
    local = world.local_queue_of(workload)
    held = not step.is_admitted(status)
    if queue is not None and queue.spec.stop_policy != "None" and held:
        return eligibility.Refusal("ClusterQueueStopped", f"ClusterQueue {queue.key} is stopped")
    policy = local.spec.stop_policy if local is not None else "None"
    if policy == "HoldAndDrain" or (policy == "Hold" and held):
        return eligibility.Refusal("LocalQueueStopped", f"its LocalQueue is stopped (stopPolicy {policy})")
    return None


def _contends(workload: Workload, status: WorkloadStatus) -> bool:
    return (
        not step.holds_quota(status)
        and not step.is_finished(status)
        and not workload.metadata.deletion_timestamp
    )


def _refusal(workload: Workload, status: WorkloadStatus, world: World) -> eligibility.Refusal | None:
    job = world.job_of(workload)
    if job is None or leaving(job):
        return eligibility.Refusal(eligibility.MISCONFIGURED, "its job is gone or has left the queue")
    return eligibility.refusal(workload, job, world)


def _snapshot(world: World, statuses: dict[str, WorkloadStatus], refused: Container[str]) -> core.Snapshot:
    standing = (
        _gang(w, statuses[w.key], world)
        for w in world.workloads.values()
        if w.key not in refused and not step.is_finished(statuses[w.key])
    )
    return snapshot.snapshot(
        world.flavors.values(),
        world.cohorts.values(),
        world.cluster_queues.values(),
        (g for g in standing if g is not None),
        checks=world.checks,
        namespaces=world.namespace_labels,
    )


def _gang(workload: Workload, status: WorkloadStatus, world: World) -> core.Workload | None:
    held = status.admission if step.holds_quota(status) else None
    queue = held.cluster_queue if held else _queue_name(workload, world)
    if queue is None or (held is None and workload.metadata.deletion_timestamp):
        return None
    return gangs.workload(workload, status, queue)


def _queue_name(workload: Workload, world: World) -> str | None:
    local = world.local_queue_of(workload)
    return local.spec.cluster_queue if local else None


def _carry_out(
    plan: core.Plan,
    world: World,
    statuses: dict[str, WorkloadStatus],
    refused: dict[str, eligibility.Refusal],
    now_ms: int,
) -> dict[str, WorkloadStatus]:
    """The statuses that the plan leads to, for the workloads that it speaks of."""
    decided: dict[str, WorkloadStatus] = {}
    for decision in plan.admissions:
        queue = world.cluster_queues[decision.admission.cluster_queue]
        checks = required_checks(queue, decision.admission)
        decided[decision.workload] = step.reserve(
            statuses[decision.workload], decision.admission, checks, now_ms
        )
    for preemption in plan.preemptions:
        by = world.workloads[preemption.preemptor]
        message = (
            f"Preempted to accommodate workload {by.key} (UID: {by.metadata.uid}) of priority "
            f"{by.spec.priority or 0} due to {preemption.reason}"
        )
        status = statuses[preemption.workload]
        decided[preemption.workload] = step.preempt(status, preemption.reason, message, now_ms)
    for key in plan.drained:
        message = "The ClusterQueue is stopped and drained (stopPolicy HoldAndDrain)"
        decided[key] = step.evict(statuses[key], "ClusterQueueStopped", message, now_ms)
    for waiting in plan.waiting:
        reason = WAIT_REASONS[waiting.reason]
        decided[waiting.workload] = step.wait(statuses[waiting.workload], reason, waiting.message, now_ms)
    for key, no in refused.items():
        decided[key] = step.wait(statuses[key], no.reason, no.message, now_ms)
    return decided


def required_checks(queue: kueue.ClusterQueue, admission: core.Admission) -> tuple[str, ...]:
    """Checks of the queue that concern the flavors of this admission; those without flavors always do."""
    used = {flavor for a in admission.pod_sets for flavor in a.flavors.values()}
    rules = queue.spec.admission_checks_strategy.admission_checks
    return tuple(r.name for r in rules if not r.on_flavors or used & set(r.on_flavors))


def _write_statuses(
    world: World,
    advanced: dict[str, WorkloadStatus],
    decided: dict[str, WorkloadStatus],
    result: Pass,
    now_ms: int,
) -> None:
    for workload in world.workloads.values():
        before, new = advanced[workload.key], decided.get(workload.key, advanced[workload.key])
        if new == workload.status:
            continue
        notes = tuple(status_notes(workload, new, now_ms))
        released = step.holds_quota(workload.status) and not step.holds_quota(before)
        vacated = workload.metadata.uid if released else ""
        if step.holds_quota(new) and not step.holds_quota(before):
            result.then.append(Step(workload.key, status_patch(workload, new), notes, vacated))
        elif before == workload.status and not step.holds_quota(new):
            told = wait_note(workload, new)
            result.waits.append(Step(workload.key, status_patch(workload, new), (told,) if told else ()))
        else:
            result.first.append(Step(workload.key, status_patch(workload, new), notes, vacated))


def status_patch(workload: Workload, status: WorkloadStatus) -> Write:
    fields = {"admission": None, "admissionChecks": [], "requeueState": None, **builtins(status)}
    return MergePatch(
        WORKLOADS, workload.key, {"status": fields}, workload.metadata.resource_version, status=True
    )
