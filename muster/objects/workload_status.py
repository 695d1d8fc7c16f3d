"""Conditions of a Workload, and the states that they describe.

Source: Kueue apis/kueue/v1beta2/workload_types.go; SuspensionBlocked, Shrinking and
GrowthLimited are Muster's own.
"""

from muster.objects.kueue import WorkloadStatus
from muster.objects.meta import find_condition, is_true, millis

QUOTA_RESERVED, ADMITTED, EVICTED, PREEMPTED = "QuotaReserved", "Admitted", "Evicted", "Preempted"
REQUEUED, PODS_READY, FINISHED = "Requeued", "PodsReady", "Finished"
DEACTIVATION_TARGET = "DeactivationTarget"
PENDING = "Pending"  # the reason of QuotaReserved=False after an eviction
SUSPENSION_BLOCKED = "SuspensionBlocked"  # its gang must stop, and cannot be suspended
SHRINKING = "Shrinking"  # more of its pods run than hold quota; they still use it
GROWTH_LIMITED = "GrowthLimited"  # a worker group has no quota for another replica


def is_finished(status: WorkloadStatus) -> bool:
    """Returns whether the condition Finished is True."""
    return is_true(status.conditions, FINISHED)


def holds_quota(status: WorkloadStatus) -> bool:
    """Returns whether the condition QuotaReserved is True."""
    return is_true(status.conditions, QUOTA_RESERVED) and status.admission is not None


def is_just_unset(status: WorkloadStatus) -> bool:
    """Returns whether the creator of a Workload without a job has just unset its reservation, as Kueue's
    UnsetQuotaReservationWithCondition does. It leaves fields set that would affect the next reservation."""
    if is_true(status.conditions, QUOTA_RESERVED):
        return False
    if status.admission is not None or is_admitted(status):
        return True
    reserved, evicted = (find_condition(status.conditions, kind) for kind in (QUOTA_RESERVED, EVICTED))
    if reserved is None or evicted is None or evicted.status != "True":
        return False
    return reserved.reason == PENDING and reserved.message != evicted.message


def is_admitted(status: WorkloadStatus) -> bool:
    """Returns whether the condition Admitted is True."""
    return is_true(status.conditions, ADMITTED)


def admitted_at_ms(status: WorkloadStatus) -> int | None:
    """Returns the time of the admission; None if the condition Admitted is not True."""
    admitted = find_condition(status.conditions, ADMITTED)
    is_set = admitted is not None and admitted.status == "True"
    return millis(admitted.last_transition_time) if admitted is not None and is_set else None


def is_unplaced(status: WorkloadStatus) -> bool:
    """Returns whether some pods are still without nodes of their topology."""
    assignments = status.admission.pod_set_assignments if status.admission else ()
    return any(assignment.delayed_topology_request == "Pending" for assignment in assignments)


def is_evicted(status: WorkloadStatus) -> bool:
    """Returns whether the condition Evicted is True."""
    return is_true(status.conditions, EVICTED)
