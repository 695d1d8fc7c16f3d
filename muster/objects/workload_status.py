"""The conditions of a Workload and what they say about it.

Source: Kueue apis/kueue/v1beta2/workload_types.go; SuspensionBlocked is Muster's own.
"""

from muster.objects.kueue import WorkloadStatus
from muster.objects.meta import find_condition, is_true, millis

QUOTA_RESERVED, ADMITTED, EVICTED, PREEMPTED = "QuotaReserved", "Admitted", "Evicted", "Preempted"
REQUEUED, PODS_READY, FINISHED = "Requeued", "PodsReady", "Finished"
DEACTIVATION_TARGET = "DeactivationTarget"
PENDING = "Pending"  # the reason of QuotaReserved=False after an eviction
SUSPENSION_BLOCKED = "SuspensionBlocked"  # its gang must stop, and has not


def is_finished(status: WorkloadStatus) -> bool:
    return is_true(status.conditions, FINISHED)


def holds_quota(status: WorkloadStatus) -> bool:
    return is_true(status.conditions, QUOTA_RESERVED) and status.admission is not None


def is_just_unset(status: WorkloadStatus) -> bool:
    """Whether the creator of a Workload without a job has just unset its reservation, as Kueue's
    UnsetQuotaReservationWithCondition does. What it leaves set would count at the next reservation."""
    if is_true(status.conditions, QUOTA_RESERVED):
        return False
    if status.admission is not None or is_admitted(status):
        return True
    reserved, evicted = (find_condition(status.conditions, kind) for kind in (QUOTA_RESERVED, EVICTED))
    if reserved is None or evicted is None or evicted.status != "True":
        return False
    return reserved.reason == PENDING and reserved.message != evicted.message


def is_admitted(status: WorkloadStatus) -> bool:
    return is_true(status.conditions, ADMITTED)


def admitted_at_ms(status: WorkloadStatus) -> int | None:
    found = find_condition(status.conditions, ADMITTED)
    return millis(found.last_transition_time) if found is not None and found.status == "True" else None


def is_unplaced(status: WorkloadStatus) -> bool:
    """Whether some of its pods still have to be placed on their topology."""
    held = status.admission.pod_set_assignments if status.admission else ()
    return any(assigned.delayed_topology_request == "Pending" for assigned in held)


def is_evicted(status: WorkloadStatus) -> bool:
    return is_true(status.conditions, EVICTED)
