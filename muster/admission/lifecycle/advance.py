"""The next step of a gang that holds quota, when nothing is decided over it.

Source: Kueue pkg/controller/core/workload_controller.go (Reconcile), in its order: deactivation,
checks, stopped queues, pods that are not ready, time that is over.
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
    """Why a gang is to be deactivated: the reason, and the sentence of it."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class ReservedWorkload:
    """A gang that holds quota and has not been told to leave.

    `admitted_at_ms` None: some check is not ready yet, or with `unplaced` pods of it have no places on
    their topology. `requeues` counts the evictions for pods that
    were not ready in time; `max_run_s` is its maximum execution time, `past_run_s` what it has used."""

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
    """No change; `until_ms` is when time alone will change that."""

    until_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Admit:
    """All checks are ready: its pods may start."""


@dataclass(frozen=True, slots=True)
class Evict:
    """Eviction: it has to leave, and is queued again once `requeue_at_ms` is past.

    `counts`: the eviction is one of those that are limited."""

    reason: str
    message: str
    requeue_at_ms: int | None = None
    counts: bool = False


@dataclass(frozen=True, slots=True)
class Deactivate:
    """Deactivation: it is out of the queue until a user sets it active again."""

    target: DeactivationTarget


Action = Stay | Admit | Evict | Deactivate


def next_action(gang: ReservedWorkload, rules: WaitForPodsReady | None, now_ms: int) -> Action:
    """Returns the next action; `rules` None: pods may take any time."""
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
    """A held queue cancels what is not admitted yet, a drained one everything, and so does a stopped job."""
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
    over_ms = None
    if gang.max_run_s is not None:
        over_ms = execution.deadline_ms(gang.max_run_s, gang.past_run_s, gang.admitted_at_ms)
        if over_ms <= now_ms:
            return Deactivate(DeactivationTarget(TIME_EXCEEDED, "exceeding the maximum execution time"))
    return Stay(min((t for t in (not_ready_ms, over_ms) if t is not None), default=None))


def _not_ready_in_time(gang: ReservedWorkload, rules: WaitForPodsReady, now_ms: int) -> Evict | Deactivate:
    again = gang.requeues + 1
    if rules.retries_max is not None and again > rules.retries_max:
        message = "exceeding the maximum number of re-queuing retries"
        return Deactivate(DeactivationTarget(RETRIES_EXCEEDED, message))
    at_ms = now_ms + rules.backoff.wait_s(again) * 1000
    return Evict(BY_PODS_READY, f"Exceeded the PodsReady timeout {gang.key}", at_ms, counts=True)
