"""A pass: plans the writes that advance the cluster from its current state in the API server.

A pass is pure, without I/O or a clock, so that it can be replayed, simulated and interrupted at any point.
Every action on a job follows from the *persisted* status of its Workload: a pass persists its decisions, and
the next pass acts on them. If the controller is killed between two writes, the next pass continues.
"""

from collections.abc import Container, Iterable, Iterator, Mapping

from muster.cluster.candidates import WorkloadInfo
from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.job import StatusReason
from muster.configuration.configuration import DEFAULT, Configuration
from muster.controller.gangs import duplicate_pods, redis_cleanup
from muster.controller.gangs.elastic_gangs import elastic_writes
from muster.controller.gangs.finished_gangs import contention_of, stops_for_waiting
from muster.controller.gangs.job_writes import job_writes
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.gangs.recorded_usage import ends_unrecorded, record_ends
from muster.controller.gangs.stops import pauses, stops, template_resets
from muster.controller.passes.budget_conditions import budget_conditions
from muster.controller.passes.decider import PassDecision
from muster.controller.passes.examination import examine
from muster.controller.passes.explanations import ExplanationLimits
from muster.controller.passes.finalizers import finalizers
from muster.controller.passes.growth_conditions import Offers, growth_conditions
from muster.controller.passes.job_syncs import sync_jobs
from muster.controller.passes.job_waits import empty_queue_labels
from muster.controller.passes.pass_memory import PassMemory
from muster.controller.passes.pass_plan import PassPlan, PassStatistics, PassWrites
from muster.controller.passes.status_writes import add_status_writes, retakes_quota
from muster.controller.workload.decisions import blocked_admissions, decided_statuses
from muster.controller.workload.suspension import runs
from muster.objects import workload_status
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import is_true


def reconcile(
    cluster: ClusterState,
    now_ms: int,
    backing_off: Container[str] = (),
    configuration: Configuration = DEFAULT,
    memory: PassMemory | None = None,
    limits: ExplanationLimits | None = None,
) -> PassPlan:
    """Returns the plan of a pass.

    `backing_off` are subjects to skip, as their last write failed. `memory` is kept from pass to pass, so
    that the cost of a pass depends on the number of changes; the result is the same without it. `limits` is
    the number of pending workloads to explain; None for all."""
    memory = memory or PassMemory(configuration.rules)
    marked, jobs = memory.begin(cluster, now_ms)
    plan = PassPlan(statistics=PassStatistics(counts=memory.counts, examined=marked))
    writes, statistics = plan.writes, plan.statistics
    # 1. Finalizers protect objects in use; Workloads are synced with their jobs.
    writes.before_reservations += finalizers(cluster)
    unsettled_jobs = sync_jobs(plan, jobs, cluster, backing_off)
    # 2. Each Workload advances as far as its job, pods and checks allow.
    candidates: dict[str, WorkloadInfo | None] = {}
    ineligible: dict[str, StatusReason] = {}
    present: list[Workload] = []
    for key in marked:
        workload = cluster.workloads.get(key)
        if workload is None:
            memory.forget(key)
            candidates[key] = None
            continue
        present.append(workload)
        examination = examine(workload, cluster, backing_off, configuration, now_ms)
        statistics.differences += not memory.put(key, examination)
        candidates[key] = examination.candidate
        if examination.problem is not None:
            ineligible[key] = examination.problem
        if examination.release is not None:
            writes.before_reservations.append(examination.release)
    # 3. The core decides on the candidates.
    decision = memory.decider.decide(cluster, candidates, now_ms, limits)
    plan.explained = decision.explained
    statuses = memory.statuses
    evaluated = dict.fromkeys((*candidates, *sorted(decision.explained.keys)))
    decided = decided_statuses(
        decision.plan,
        decision.resizes,
        decision.waiting.get,
        cluster,
        statuses,
        ineligible,
        evaluated,
        now_ms,
        configuration.notice_ms,
    )
    decided |= blocked_admissions(decision.plan, statuses, configuration.wait_for_pods_ready, now_ms)
    offers = memory.decider.offers(cluster)
    decided |= growth_conditions(
        memory.decider,
        memory.growth_limits,
        offers,
        lambda key: decided.get(key, statuses[key]),
        cluster,
        now_ms,
        explains_all=limits is None,
    )
    # Workloads that back off are part of the decision, but their statuses are not written. The decision may
    # give others the quota that a gang frees: that is persisted before the gang gets quota again, in a later
    # pass.
    decided = {
        key: status
        for key, status in decided.items()
        if key not in backing_off and not retakes_quota(cluster.workloads[key], statuses[key], status)
    }
    # 4. Changed statuses are written, releases before reservations.
    changed = sorted({*(w.key for w in present), *decided})
    unsettled = set(add_status_writes(writes, cluster, statuses, decided, changed, backing_off, now_ms))
    # 5. Jobs are stopped, started and provisioned according to their persisted Workloads.
    for workload in present:
        new = decided.get(workload.key, statuses[workload.key])
        has_writes = _is_persisted(new, workload.status) and _add_job_writes(
            writes, workload, cluster, backing_off, configuration, now_ms
        )
        if has_writes or workload.key in backing_off or cluster.timers.is_timed(workload.metadata.uid):
            unsettled.add(workload.key)
    if cluster.budgeted_resources:
        ending = [w for w in present if w.key not in backing_off and ends_unrecorded(w, cluster, now_ms)]
        unsettled |= {workload.key for workload in ending}
        conditions = budget_conditions(memory.decider.budget_usage(now_ms), cluster, now_ms)
        recorded = list(record_ends(ending, cluster, now_ms))
        # One write a queue: each changes the version that the other requires.
        keys = {planned.write.key for planned in recorded}
        recorded += (planned for planned in conditions if planned.write.key not in keys)
        writes.before_reservations += _without(backing_off, recorded)
    unsettled |= _add_elastic_writes(
        writes, memory, offers, cluster, decided, backing_off, now_ms, configuration.notice_ms
    )
    # If one of these writes fails, its Workload backs off, which changes its next examination.
    unsettled |= cluster.workloads.keys() & {planned.subject for planned in writes.before_reservations}
    writes.before_reservations += _stops_for_waiting(cluster, decision, memory, backing_off, now_ms)
    writes.stops += _without(backing_off, redis_cleanup.finalizer_removals_without_workload(cluster))
    writes.repeated_events += empty_queue_labels(cluster)
    statistics.preemptors = {p.workload: p.preemptor for p in decision.plan.preemptions}
    due = (decision.until_ms, memory.until_ms)
    plan.wake_at_ms = min((at_ms for at_ms in due if at_ms is not None), default=None)
    statistics.changed_queues = memory.changed_queues()
    memory.end(unsettled, unsettled_jobs)
    return plan


def _add_elastic_writes(
    writes: PassWrites,
    memory: PassMemory,
    offers: Offers,
    cluster: ClusterState,
    decided: Mapping[str, WorkloadStatus],
    backing_off: Container[str],
    now_ms: int,
    notice_ms: int,
) -> set[str]:
    """Adds the writes by which elastic gangs grow and shrink, for all of them: their limits depend on the
    quota that others leave. Returns the keys of those with writes."""
    changed: set[str] = set()
    for key, offer in offers.items():
        workload, new = cluster.workloads[key], decided.get(key, memory.statuses[key])
        if not _is_persisted(new, workload.status) or not runs(workload, cluster.job_of(workload)):
            continue
        # The core counts growth as granted whose write failed: nothing seems free until it is retried.
        free = None if key in backing_off else offer
        planned = list(elastic_writes(workload, cluster, free, now_ms, notice_ms))
        writes.before_reservations += _without(backing_off, planned)
        if planned:
            changed.add(key)
    return changed


def _stops_for_waiting(
    cluster: ClusterState,
    decision: PassDecision,
    memory: PassMemory,
    backing_off: Container[str],
    now_ms: int,
) -> Iterator[PlannedWrite]:
    """Yields writes that stop finished gangs whose quota others wait for. Caches `memory.contention`."""
    if decision.waiting_changed:
        memory.contention = None
    finished = list(memory.finished_with_quota(cluster))
    if finished:
        memory.contention = memory.contention or contention_of(decision.waiting, cluster)
        yield from stops_for_waiting(finished, memory.contention, cluster, backing_off, now_ms)


def _add_job_writes(
    writes: PassWrites,
    workload: Workload,
    cluster: ClusterState,
    backing_off: Container[str],
    configuration: Configuration,
    now_ms: int,
) -> bool:
    """Adds the writes that sync the job. Returns whether there are any, including writes that back off."""
    # A gang that must stop is stopped even if other writes of its Workload fail.
    halts = [
        *stops(workload, cluster, now_ms),
        *pauses(workload, cluster),
        *duplicate_pods.deletions(workload, cluster),
        *redis_cleanup.finalizer_removals(workload, cluster, now_ms),
    ]
    resets = [*template_resets(workload, cluster), *redis_cleanup.label_removals(workload, cluster)]
    backs_off = workload.key in backing_off
    planned = [] if backs_off else list(job_writes(workload, cluster, now_ms, configuration))
    writes.stops += _without(backing_off, halts)
    writes.template_resets += _without(backing_off, resets)
    writes.before_reservations += _without(backing_off, planned)
    return bool(halts or resets or planned)


def _without(backing_off: Container[str], writes: Iterable[PlannedWrite]) -> Iterator[PlannedWrite]:
    return (planned for planned in writes if planned.subject not in backing_off)


def _is_persisted(new: WorkloadStatus, old: WorkloadStatus) -> bool:
    """Returns whether the persisted status is up to date in the fields that job writes depend on. Otherwise,
    for example, a gang that is being evicted could be started."""
    if new is old:
        return True
    kinds = (workload_status.EVICTED, workload_status.DEACTIVATION_TARGET)
    same = all(is_true(new.conditions, kind) == is_true(old.conditions, kind) for kind in kinds)
    moved = None not in (new.admission, old.admission) and new.admission != old.admission
    return same and not moved and new.admission_checks == old.admission_checks
