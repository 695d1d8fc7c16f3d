"""The next action for a workload that holds quota, except for the decisions of the core.

Source: Kueue pkg/controller/core/workload_controller.go (Reconcile), in its order: deactivation,
admission checks, stopped queues, PodsReady timeout, maximum execution time.
"""

from dataclasses import dataclass

from muster.admission.lifecycle import checks, execution, readiness
from muster.admission.lifecycle.checks import CheckStatus
from muster.admission.lifecycle.readiness import PodsReady, WaitForPodsReady
from muster.admission.model import CheckState, StopPolicy

DEACTIVATED = "Deactivated"
BY_CHECK = "AdmissionCheck"
BY_PODS_READY = "PodsReadyTimeout"
BY_JOB = "JobStopped"
BY_LOCAL_QUEUE, BY_CLUSTER_QUEUE = "LocalQueueStopped", "ClusterQueueStopped"
TIME_EXCEEDED, RETRIES_EXCEEDED = "MaximumExecutionTimeExceeded", "RequeuingLimitExceeded"


@dataclass(frozen=True, slots=True)
class DeactivationTarget:
    """The reason and message of a pending deactivation."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class ReservedWorkload:
    """A workload that holds quota and is not being evicted.

    `admitted_at_ms` is None while an admission check is not ready or, with `unplaced`, pods have no topology
    assignment. `requeues` counts evictions by the PodsReady timeout. `max_run_s` is the maximum execution
    time, `past_run_s` the time that earlier admissions used."""

    key: str
    active: bool = True
    target: DeactivationTarget | None = None
    checks: tuple[CheckStatus, ...] = ()
    job_stopped: bool = False  # by its user
    cluster_queue_stop: StopPolicy = StopPolicy.NONE
    local_queue_stop: StopPolicy = StopPolicy.NONE
    admitted_at_ms: int | None = None
    unplaced: bool = False
    pods: PodsReady | None = None
    requeues: int = 0
    max_run_s: int | None = None
    past_run_s: int = 0


@dataclass(frozen=True, slots=True)
class Stay:
    """No action; `until_ms` is when time alone may require one."""

    until_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Admit:
    """Admission: all checks are ready, so the pods may start."""


@dataclass(frozen=True, slots=True)
class Evict:
    """Eviction; the workload is requeued after `requeue_at_ms`.

    `counts`: it counts towards the limit of requeues."""

    reason: str
    message: str
    requeue_at_ms: int | None = None
    counts: bool = False


@dataclass(frozen=True, slots=True)
class Deactivate:
    """Deactivation: the workload leaves the queue until a user sets it active."""

    target: DeactivationTarget


Action = Stay | Admit | Evict | Deactivate


def next_action(gang: ReservedWorkload, rules: WaitForPodsReady | None, now_ms: int) -> Action:
    """Returns the next action; `rules` None: there is no PodsReady timeout."""
    if not gang.active:
        return _deactivated(gang.target)
    if gang.target is not None:
        return Deactivate(gang.target)
    return _by_checks(gang) or _by_stops(gang) or _by_time(gang, rules, now_ms)


def _deactivated(target: DeactivationTarget | None) -> Evict:
    if target is None:
        return Evict(DEACTIVATED, "The workload is deactivated")
    reason = f"{DEACTIVATED}DueTo{target.reason}"
    return Evict(reason, f"The workload is deactivated due to {target.message}")


def _by_checks(gang: ReservedWorkload) -> Evict | Deactivate | None:
    if checks.in_state(gang.checks, CheckState.REJECTED):
        return Deactivate(DeactivationTarget(BY_CHECK, checks.sentence(gang.checks, CheckState.REJECTED)))
    if checks.in_state(gang.checks, CheckState.RETRY):
        message = f"Evicted due to {checks.sentence(gang.checks, CheckState.RETRY)}"
        return Evict(BY_CHECK, message, checks.retry_at_ms(gang.checks))
    return None


def _by_stops(gang: ReservedWorkload) -> Evict | None:
    """Evicts for a stopped job or queue; a queue on Hold evicts only workloads that are not admitted."""
    if gang.job_stopped:
        return Evict(BY_JOB, "The job is stopped")
    admitted = gang.admitted_at_ms is not None

    def stops(policy: StopPolicy) -> bool:
        return policy is StopPolicy.HOLD_AND_DRAIN or (policy is StopPolicy.HOLD and not admitted)

    if stops(gang.local_queue_stop):
        return Evict(BY_LOCAL_QUEUE, "The LocalQueue is stopped")
    if stops(gang.cluster_queue_stop):
        return Evict(BY_CLUSTER_QUEUE, "The ClusterQueue is stopped")
    return None


def _by_time(gang: ReservedWorkload, rules: WaitForPodsReady | None, now_ms: int) -> Action:
    if gang.admitted_at_ms is None:
        return Admit() if checks.all_ready(gang.checks) and not gang.unplaced else Stay()
    not_ready_ms = readiness.deadline_ms(rules, gang.pods, gang.admitted_at_ms) if rules else None
    if rules is not None and not_ready_ms is not None and not_ready_ms <= now_ms:
        return _not_ready_in_time(gang, rules, now_ms)
    exceeded_ms = None
    if gang.max_run_s is not None:
        exceeded_ms = execution.deadline_ms(gang.max_run_s, gang.past_run_s, gang.admitted_at_ms)
        if exceeded_ms <= now_ms:
            return Deactivate(DeactivationTarget(TIME_EXCEEDED, "exceeding the maximum execution time"))
    return Stay(min((t for t in (not_ready_ms, exceeded_ms) if t is not None), default=None))


def _not_ready_in_time(gang: ReservedWorkload, rules: WaitForPodsReady, now_ms: int) -> Evict | Deactivate:
    attempt = gang.requeues + 1
    if rules.retries_max is not None and attempt > rules.retries_max:
        message = "exceeding the maximum number of re-queuing retries"
        return Deactivate(DeactivationTarget(RETRIES_EXCEEDED, message))
    at_ms = now_ms + rules.backoff.wait_s(attempt) * 1000
    return Evict(BY_PODS_READY, f"Exceeded the PodsReady timeout {gang.key}", at_ms, counts=True)
