"""One pass: plans the writes that move the cluster forward from the objects as the API server has them.

Pure, without I/O or a clock, so that a pass can be replayed, simulated and killed at any point. Every action
on a job follows from the *persisted* status of its Workload: what a pass decides is persisted first, and
acted on by the next pass. If the controller is killed between two writes, the next pass continues from there.
"""

from collections.abc import Container, Iterable, Iterator

from muster.configuration.configuration import DEFAULT, Configuration
from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.gangs import duplicate_pods, finished_gangs
from muster.controller.gangs.job_writes import job_writes
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.gangs.stops import stops, template_resets
from muster.controller.passes import eligibility
from muster.controller.passes.advance import advance_workload
from muster.controller.passes.candidates import candidates, ineligibility, is_pending, is_unchecked
from muster.controller.passes.decided_statuses import decided_statuses
from muster.controller.passes.decider import Decider
from muster.controller.passes.finalizers import finalizers
from muster.controller.passes.pass_plan import PassPlan
from muster.controller.passes.status_writes import add_status_writes
from muster.controller.workload import job_workload
from muster.controller.workload.events import on_job
from muster.controller.workload.lifecycle import blocked_admissions
from muster.controller.workload.timed_status import TimedStatus
from muster.objects import workload_status
from muster.objects.kueue import WorkloadStatus
from muster.objects.meta import is_true


def reconcile(
    cluster: ClusterState,
    now_ms: int,
    backing_off: Container[str] = (),
    configuration: Configuration = DEFAULT,
    decider: Decider | None = None,
) -> PassPlan:
    """Returns the plan of one pass.

    `backing_off`: subjects whose last write was refused, skipped for now. `decider`: kept from pass to
    pass; its cache makes a pass faster and never changes the result."""
    decider = decider or Decider(configuration.rules)
    plan = PassPlan()
    # 1. Finalizers protect the objects that gangs hold quota of; jobs and their Workloads are synced.
    plan.before_reservations += finalizers(cluster)
    plan.before_reservations += _sync_jobs(cluster, backing_off)
    # 2. Every Workload advances as far as its job, pods and checks allow.
    advanced = {
        key: TimedStatus(w.status)
        if key in backing_off
        else advance_workload(w, cluster, configuration, now_ms)
        for key, w in cluster.workloads.items()
    }
    statuses = {key: a.status for key, a in advanced.items()}
    # 3. The core decides on the result.
    pending = [(key, w) for key, w in cluster.workloads.items() if is_pending(w, statuses[key])]
    found = ((key, ineligibility(w, statuses[key], cluster)) for key, w in pending)
    ineligible = {key: problem for key, problem in found if problem is not None}
    released = {w.subject: w for w in finished_gangs.quota_releases(cluster, backing_off, now_ms)}
    plan.before_reservations += released.values()
    unchecked = {key for key, w in pending if key not in ineligible and is_unchecked(w, cluster)}
    considered = candidates(cluster, statuses, {*ineligible, *unchecked, *released})
    decision = decider.decide(cluster, considered, now_ms)
    decided = decided_statuses(decision, cluster, statuses, ineligible, now_ms)
    decided |= blocked_admissions(decision, statuses, configuration.wait_for_pods_ready, now_ms)
    # Workloads that back off take part in the decision, but nothing is written for them.
    decided = {key: status for key, status in decided.items() if key not in backing_off}
    # 4. Changed statuses are written: releases first, then reservations.
    add_status_writes(plan, cluster, statuses, decided, now_ms)
    # 5. Jobs are stopped, started and provisioned according to their persisted Workloads.
    for key, workload in cluster.workloads.items():
        new = decided.get(key, statuses[key])
        if not _as_persisted(new, workload.status):
            continue
        # A gang that must stop is stopped even if other writes of its Workload fail.
        plan.stops += _without(backing_off, stops(workload, cluster, now_ms))
        plan.stops += _without(backing_off, duplicate_pods.deletions(workload, cluster))
        plan.template_resets += _without(backing_off, template_resets(workload, cluster))
        if key not in backing_off:
            plan.before_reservations += job_writes(workload, cluster, now_ms, configuration.retention)
    plan.before_reservations += finished_gangs.stops_for_waiting(
        cluster, decision.waiting, backing_off, now_ms
    )
    plan.repeated_events += eligibility.empty_queue_labels(cluster)
    plan.preemptors = {p.workload: p.preemptor for p in decision.preemptions}
    due = (*(w.until_ms for w in decision.waiting), *(a.until_ms for a in advanced.values()))
    plan.wake_at_ms = min((at_ms for at_ms in due if at_ms is not None), default=None)
    return plan


def _without(backing_off: Container[str], writes: Iterable[PlannedWrite]) -> Iterator[PlannedWrite]:
    return (planned for planned in writes if planned.subject not in backing_off)


def _as_persisted(new: WorkloadStatus, old: WorkloadStatus) -> bool:
    """Whether the pass leaves both unchanged: else the persisted status could start a gang being evicted."""
    if new is old:
        return True
    kinds = (workload_status.EVICTED, workload_status.DEACTIVATION_TARGET)
    same = all(is_true(new.conditions, kind) == is_true(old.conditions, kind) for kind in kinds)
    moved = None not in (new.admission, old.admission) and new.admission != old.admission
    return same and not moved and new.admission_checks == old.admission_checks


def _sync_jobs(cluster: ClusterState, backing_off: Container[str]) -> Iterator[PlannedWrite]:
    for uid, job in cluster.jobs.items():
        workload = cluster.workload_of_job.get(uid)
        if workload is None:
            if job.outcome is None and not job.metadata.deletion_timestamp and uid not in backing_off:
                create = job_workload.make_workload(job, cluster)
                message = f"Created Workload {create.body['metadata']['name']}"
                yield PlannedWrite(uid, create, (on_job(job, "CreatedWorkload", message),), deferrable=True)
        elif workload.key not in backing_off and not workload_status.is_finished(workload.status):
            if workload_status.holds_quota(workload.status):
                change = job_workload.update_priority(workload, cluster)
            else:
                change = job_workload.update_workload(workload, job, cluster)
            if change is not None:
                event = on_job(job, "UpdatedWorkload", f"Updated Workload {workload.metadata.name}")
                yield PlannedWrite(workload.key, change, (event,), deferrable=True)
