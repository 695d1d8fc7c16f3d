"""Every wait reason of the core maps to a reason of Kueue's for QuotaReserved=False."""

from muster import admission as core
from muster.controller.workload.decisions import WAIT_REASONS

KUEUES = {  # apis/kueue/v1beta2/workload_types.go and pkg/scheduler
    "AdmissionGated",
    "ExceedsMaxQuota",
    "Misconfigured",
    "NoMatchingFlavor",
    "PendingEvaluation",
    "Suspended",
    "TopologyPlacementFailed",
    "WaitingForPreemptedWorkloads",
    "WaitingForQuota",
}


def test_each_wait_reason_maps_to_a_reason_of_kueue() -> None:
    assert WAIT_REASONS.keys() == set(core.WaitReason)
    assert set(WAIT_REASONS.values()) == KUEUES
