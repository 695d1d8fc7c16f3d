"""Requeueing of heads that a cycle did not admit."""

from enum import StrEnum

from muster.admission.model import QueueingStrategy


class RequeueReason(StrEnum):
    """Reasons to requeue a head (Kueue: pkg/cache/queue, RequeueReason)."""

    GENERIC = ""
    NAMESPACE_MISMATCH = "NamespaceMismatch"
    AFTER_NOMINATION = "FailedAfterNomination"  # it would fit without the other heads of the cycle
    NO_FIT = "NoFit"
    NO_CANDIDATES = "PreemptionNoCandidates"
    PREEMPTION_FAILED = "PreemptionFailed"  # a target could not be evicted
    PREEMPTION_GATED = "PreemptionGated"
    PENDING_PREEMPTION = "PendingPreemption"  # it stays the head until its targets have terminated


_IMMEDIATE = frozenset(
    {RequeueReason.AFTER_NOMINATION, RequeueReason.PREEMPTION_FAILED, RequeueReason.PENDING_PREEMPTION}
)


def requeues_immediately(
    strategy: QueueingStrategy, reason: RequeueReason, pending_flavors: bool = False
) -> bool:
    """Returns whether a head is tried again in the next cycle; otherwise it is parked until a change.

    `pending_flavors`: it has not tried all flavors. Kueue: RequeueIfNotPresent."""
    if strategy is QueueingStrategy.STRICT_FIFO:
        return pending_flavors or reason is not RequeueReason.NAMESPACE_MISMATCH
    return pending_flavors or reason in _IMMEDIATE
