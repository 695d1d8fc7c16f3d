"""Requeueing of heads that a cycle did not admit."""

from enum import StrEnum

from muster.admission.model import QueueingStrategy


class Requeue(StrEnum):
    """Why it goes back (Kueue: pkg/cache/queue, RequeueReason)."""

    GENERIC = ""
    NAMESPACE_MISMATCH = "NamespaceMismatch"
    AFTER_NOMINATION = "FailedAfterNomination"  # it would have fitted, if not for others of the cycle
    NO_FIT = "NoFit"
    NO_CANDIDATES = "PreemptionNoCandidates"
    PREEMPTION_FAILED = "PreemptionFailed"  # a victim could not be evicted
    PREEMPTION_GATED = "PreemptionGated"
    PENDING_PREEMPTION = "PendingPreemption"  # it stays the head until its victims are gone


_AT_ONCE = frozenset({Requeue.AFTER_NOMINATION, Requeue.PREEMPTION_FAILED, Requeue.PENDING_PREEMPTION})


def stays(strategy: QueueingStrategy, reason: Requeue, flavors_left: bool = False) -> bool:
    """Whether it is tried again in the next cycle; if not it is parked until something changes.

    `flavors_left`: it has not tried all flavors yet. Kueue: RequeueIfNotPresent."""
    if strategy is QueueingStrategy.STRICT_FIFO:
        return flavors_left or reason is not Requeue.NAMESPACE_MISMATCH
    return flavors_left or reason in _AT_ONCE
