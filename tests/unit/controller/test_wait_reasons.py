"""The reason of QuotaReserved=False is one of Kueue's, for whatever the core says."""

from muster import admission as core
from muster.controller.reconcile import WAIT_REASONS

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


def test_each_reason_of_the_core_has_one_of_kueues() -> None:
    assert WAIT_REASONS.keys() == set(core.WaitReason)
    assert set(WAIT_REASONS.values()) == KUEUES
