"""Rules of decisions: Kueue's configuration and feature gates, and rules that only Muster has.

The defaults are the same as in Kueue v0.19; rules that Kueue lacks are off.
"""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Aging:
    """A priority boost for pending workloads: `step` per full period, up to `boost_max`.

    It affects the order within a queue and among the heads of a cycle. Preemptors compete with their
    declared priority, so age alone evicts nothing. A workload keeps the boost that it had when its quota was
    reserved: workloads that it overtook cannot preempt it immediately. As a boost only protects, workloads
    cannot preempt each other in turn."""

    step: int
    period_ms: int
    boost_max: int

    def boost(self, waited_ms: int) -> int:
        """Returns the boost of a workload after this wait."""
        return min(self.boost_max, self.step * (max(0, waited_ms) // self.period_ms))

    def next_boost_ms(self, queued_at_ms: int, now_ms: int) -> int | None:
        """Returns when the boost grows next; None at the limit."""
        waited_ms = now_ms - queued_at_ms
        if self.boost(waited_ms) >= self.boost_max:
            return None
        return queued_at_ms + (max(0, waited_ms) // self.period_ms + 1) * self.period_ms


class FairStrategy(StrEnum):
    """The share of the target's queue that the preemptor's new share is compared with."""

    LESS_THAN_OR_EQUAL_TO_FINAL_SHARE = "LessThanOrEqualToFinalShare"
    LESS_THAN_INITIAL_SHARE = "LessThanInitialShare"


@dataclass(frozen=True, slots=True)
class FairSharing:
    """Kueue's fair sharing: preemption by the shares of queues instead of by priority alone."""

    strategies: tuple[FairStrategy, ...] = (
        FairStrategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE,
        FairStrategy.LESS_THAN_INITIAL_SHARE,
    )
    preempt_within_nominal: bool = True  # regardless of shares: gate FairSharingPreemptWithinNominal
    prioritize_non_borrowing: bool = True  # among heads: gate FairSharingPrioritizeNonBorrowing
    only_lasting: bool = False  # not in Kueue: skips preemptions that a target could reverse


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules that change decisions."""

    fair_sharing: FairSharing | None = None
    partial_admission: bool = True
    reclaimable_pods: bool = True  # finished pods release their quota: gate ReclaimablePods
    ignore_undeclared: bool = False  # ignores resources without quota in the queue (quotaCheckStrategy)
    concurrent_admission: bool = False  # respects allowed_flavors: gate ConcurrentAdmission
    priority_sorting_within_cohort: bool = True
    requeue_behind_others: bool = True  # after PodsReadyTimeout (requeuingStrategy.timestamp: Eviction)
    prioritize_preemptors: bool = False  # among the heads of a cycle
    keep_flavor_scan: bool = True  # across cycles: gate FlavorFungibilityPreserveScanProgress
    recompute_overlapping: bool = False  # targets: RecomputeAssignmentUponPreemptionTargetsOverlap
    preemption_gates: bool = False  # respects preemption_gated: gate MultiKueueOrchestratedPreemption
    priority_boost: bool = False  # an annotation adds to the priority: gate PriorityBoost
    preemption_buffer_ms: int = 0  # age difference at equal priority: gate SchedulerTimestampPreemptionBuffer
    topology: bool = True  # gate TopologyAwareScheduling
    topology_recompute: bool = True  # after an earlier head took the domains: gate TASRecompute…Cycle
    topology_fail_fast: bool = True  # evicts if a failed node has no replacement: gate TAS…FailFast
    topology_mixed: bool = True  # LeastFreeCapacity for unconstrained pods: gate TASProfileMixed
    topology_balanced: bool = False  # gate TASBalancedPlacement
    topology_prefers_affinity: bool = False  # gate TASRespectNodeAffinityPreferred
    topology_elastic: bool = False  # gate ElasticJobsViaWorkloadSlicesWithTAS
    topology_keeps_pinned: bool = True  # gate SkipReassignmentForPodOwnedWorkloads
    immediate_unparking: bool = False  # not in Kueue: tries parked workloads in every decision
    run_time_ms_min: int = 0  # not in Kueue: protects from preemption (rules/min_runtime.py)
    aging: Aging | None = None  # not in Kueue
    backfill: bool = False  # not in Kueue: rules/backfill.py
