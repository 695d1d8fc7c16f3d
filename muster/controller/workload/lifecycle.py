"""The life of a Workload outside of decisions: facts in, a transition out.

LIFECYCLE lists, for each phase, the events that end it; the first event that has occurred determines the
transition. A decision is the only other source of transitions (decisions.py).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from muster.admission.lifecycle import (
    Admit,
    Deactivate,
    Evict,
    Stay,
    back_in_queue,
    next_action,
    readiness_after,
)
from muster.cluster.phases import Phase, phase
from muster.controller.provisioning import provisioning_checks
from muster.controller.workload import transitions
from muster.controller.workload.facts import Facts, readiness_of, without_future_times
from muster.controller.workload.suspension import with_suspension_progress
from muster.objects import workload_status
from muster.objects.kueue import WorkloadStatus
from muster.objects.meta import find_condition

TimedStatus = tuple[WorkloadStatus, int | None]
"""A status, and the time until which it is valid; None if only changes of objects invalidate it."""


@dataclass(frozen=True, slots=True)
class LifecycleEvent:
    """An event that may end a phase."""

    # Completes the sentence "once …".
    description: str
    # The functions of transitions.py that the event may lead to.
    transitions: tuple[Callable[..., WorkloadStatus], ...]
    # Returns the status after the event; None if the event has not occurred.
    apply: Callable[[Facts, WorkloadStatus], TimedStatus | None]


def advance(facts: Facts) -> TimedStatus:
    """Returns the status that follows from the facts, and the time of its next change by time alone."""
    status = without_future_times(facts.workload.status, facts.now_ms)
    if facts.job is not None:
        status = transitions.reclaim(status, facts.reclaimable_pods(facts.job, status))
    status, until_ms = _after_events(phase(status), facts, status)
    status, suspension_ms = with_suspension_progress(
        facts.workload, facts.job, status, facts.cluster, facts.now_ms
    )
    due = (until_ms, suspension_ms, facts.retention_due_ms(), facts.retry_due_ms())
    return status, _earliest(*due)


def _after_events(in_phase: Phase, facts: Facts, status: WorkloadStatus) -> TimedStatus:
    for event in LIFECYCLE[in_phase]:
        advanced = event.apply(facts, status)
        if advanced is not None:
            return advanced
    return status, None


def _end_of_job(facts: Facts, status: WorkloadStatus) -> TimedStatus | None:
    if facts.job is None or facts.job.outcome is None:
        return None
    return transitions.finish(status, facts.job.outcome, facts.now_ms), None


def _deactivation(facts: Facts, status: WorkloadStatus) -> TimedStatus | None:
    if facts.workload.spec.active:
        return None
    return transitions.without_deactivation_target(status), None


def _end_of_back_off(facts: Facts, status: WorkloadStatus) -> TimedStatus | None:
    requeued = find_condition(status.conditions, workload_status.REQUEUED)
    if requeued is None or requeued.status == "True":
        return None
    evicted = facts.evicted(status, requeued)
    requeue = back_in_queue(evicted, facts.now_ms)
    if requeue is not None:
        return transitions.requeued(status, requeue.reason, requeue.message, facts.now_ms), None
    in_future = evicted.requeue_at_ms is not None and evicted.requeue_at_ms > facts.now_ms
    return status, evicted.requeue_at_ms if in_future else None


def _rejection(facts: Facts, status: WorkloadStatus) -> TimedStatus | None:
    job = facts.job
    if job is None or job.kuberay_rejection is None:
        return None
    message = f"{job.kind} {job.metadata.name} {job.kuberay_rejection.message}"
    return transitions.evict(status, job.kuberay_rejection.reason, message, facts.now_ms), None


def _due_action(facts: Facts, status: WorkloadStatus) -> TimedStatus:
    """Applies the next action of the core's lifecycle rules, after the checks and PodsReady."""
    workload, cluster, now_ms = facts.workload, facts.cluster, facts.now_ms
    wait = facts.configuration.wait_for_pods_ready
    status = provisioning_checks.sync_checks(workload, status, cluster, now_ms)
    if workload_status.is_admitted(status) and not facts.is_without_job:
        status = sync_pods_ready(status, facts.pods_ready(), now_ms)
    until_ms: int | None = None
    action = next_action(facts.reserved(status), wait, now_ms)
    if isinstance(action, Admit):
        status = transitions.sync_admitted(status, now_ms)
        action = next_action(facts.reserved(status), wait, now_ms)
    if isinstance(action, Evict):
        status = transitions.evict(status, action.reason, action.message, now_ms)
        if workload.spec.active:
            status = transitions.requeue_at(status, action.requeue_at_ms, counts=action.counts)
        else:
            status = transitions.without_deactivation_target(status)
    elif isinstance(action, Deactivate):
        status = transitions.deactivate(status, action.target.reason, action.target.message, now_ms)
    else:
        assert isinstance(action, Stay), "only Admit is followed by a second action"
        until_ms = action.until_ms
    return status, _earliest(until_ms, provisioning_checks.timeout_ms(workload, status, cluster))


def sync_pods_ready(status: WorkloadStatus, ready: bool, now_ms: int) -> WorkloadStatus:
    """Updates PodsReady of an admitted Workload. The condition is absent until the pods are ready for the
    first time."""
    pods = readiness_of(status)
    if pods is None and not ready:
        return status
    return transitions.pods_ready(status, readiness_after(pods.state if pods else None, ready), now_ms)


def _stop_of_gang(facts: Facts, status: WorkloadStatus) -> TimedStatus | None:
    # The creator of a Workload without a job stops its pods, and then unsets the reservation.
    if not workload_status.holds_quota(status) or facts.is_without_job or not facts.gang_is_stopped():
        return None
    return _released(facts, status)


def _unset_reservation(facts: Facts, status: WorkloadStatus) -> TimedStatus | None:
    if workload_status.holds_quota(status):
        return None
    if not facts.is_without_job:  # only the controller releases the quota of a job
        return _after_events(Phase.BACK_OFF, facts, status)
    return _released(facts, status)


def _released(facts: Facts, status: WorkloadStatus) -> TimedStatus:
    """Releases the quota. The back-off may have ended already, so its events follow in the same pass."""
    status = transitions.release(status, facts.now_ms)
    return _after_events(phase(status), facts, status)


def _earliest(*times_ms: int | None) -> int | None:
    return min((at_ms for at_ms in times_ms if at_ms is not None), default=None)


JOB_ENDED = LifecycleEvent("its job has ended", (transitions.finish,), _end_of_job)
DEACTIVATED = LifecycleEvent(
    "it is deactivated: it stays in its phase, but its requeue state is dropped", (), _deactivation
)
BACK_OFF_ENDED = LifecycleEvent(
    "its back-off has ended, or its queue or job is no longer stopped",
    (transitions.requeued,),
    _end_of_back_off,
)
REJECTED = LifecycleEvent("KubeRay has rejected its job", (transitions.evict,), _rejection)
CHECKS_SETTLED = LifecycleEvent(
    "its checks are ready and its pods placed, or a check, a stop or a deactivation evicts it",
    (transitions.sync_admitted, transitions.evict),
    _due_action,
)
EVICTION_DUE = LifecycleEvent(
    "a check, a stop, a deactivation or a time limit evicts it", (transitions.evict,), _due_action
)
GANG_STOPPED = LifecycleEvent("its gang is stopped", (transitions.release,), _stop_of_gang)
UNSET = LifecycleEvent(
    "without a job: its creator has unset its reservation", (transitions.release,), _unset_reservation
)

LIFECYCLE: Mapping[Phase, tuple[LifecycleEvent, ...]] = {
    Phase.PENDING: (JOB_ENDED, DEACTIVATED),
    Phase.BACK_OFF: (JOB_ENDED, DEACTIVATED, BACK_OFF_ENDED),
    Phase.QUOTA_RESERVED: (JOB_ENDED, REJECTED, CHECKS_SETTLED),
    Phase.ADMITTED: (JOB_ENDED, REJECTED, EVICTION_DUE),
    Phase.EVICTED: (JOB_ENDED, GANG_STOPPED, UNSET),
    Phase.FINISHED: (),
}
