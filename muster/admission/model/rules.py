"""How decisions are taken, beyond what the objects say: Kueue's configuration and gates, and ours.

The defaults are those of Kueue v0.19; what it does not have is off.
"""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Aging:
    """A priority boost for pending workloads: `step` for every full period, `boost_max` at most.

    It counts for the order within a queue and among the heads of a cycle. Which workloads may be preempted
    is decided by declared priorities, so age alone evicts nothing. A running workload keeps the boost that
    it had when it got its quota, so that those it was admitted before do not take its place at once; as
    that only protects, preemption cannot go round in circles."""

    step: int
    period_ms: int
    boost_max: int

    def boost(self, waited_ms: int) -> int:
        """The boost of a workload that has waited for so long."""
        return min(self.boost_max, self.step * (max(0, waited_ms) // self.period_ms))

    def next_boost_ms(self, queued_at_ms: int, now_ms: int) -> int | None:
        """When the boost grows next; None at the limit."""
        waited_ms = now_ms - queued_at_ms
        if self.boost(waited_ms) >= self.boost_max:
            return None
        return queued_at_ms + (max(0, waited_ms) // self.period_ms + 1) * self.period_ms


class FairStrategy(StrEnum):
    """When fair sharing may preempt: what is compared with the preemptor's new share."""

    LESS_THAN_OR_EQUAL_TO_FINAL_SHARE = "LessThanOrEqualToFinalShare"
    LESS_THAN_INITIAL_SHARE = "LessThanInitialShare"


@dataclass(frozen=True, slots=True)
class FairSharing:
    strategies: tuple[FairStrategy, ...] = (
        FairStrategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE,
        FairStrategy.LESS_THAN_INITIAL_SHARE,
    )
    preempt_within_nominal: bool = True  # whatever the shares: gate FairSharingPreemptWithinNominal
    prioritize_non_borrowing: bool = True  # among heads: gate FairSharingPrioritizeNonBorrowing
    only_lasting: bool = False  # ours: no preemption that one of its victims could undo


@dataclass(frozen=True, slots=True)
class Rules:
    fair_sharing: FairSharing | None = None
    partial_admission: bool = True
    reclaimable_pods: bool = True  # pods that are done free their quota: gate ReclaimablePods
    ignore_undeclared: bool = False  # resources that a queue has no quota for (quotaCheckStrategy)
    concurrent_admission: bool = False  # workloads that allow some flavors only: gate ConcurrentAdmission
    priority_sorting_within_cohort: bool = True
    requeue_behind_others: bool = True  # after PodsReadyTimeout (requeuingStrategy.timestamp: Eviction)
    prioritize_preemptors: bool = False  # among the heads of a cycle
    keep_flavor_scan: bool = True  # from cycle to cycle: gate FlavorFungibilityPreserveScanProgress
    recompute_overlapping: bool = False  # targets: RecomputeAssignmentUponPreemptionTargetsOverlap
    preemption_gates: bool = False  # hold preemptors back: gate MultiKueueOrchestratedPreemption
    priority_boost: bool = False  # an annotation adds to the priority: gate PriorityBoost
    preemption_buffer_ms: int = 0  # of equals, how much older: gate SchedulerTimestampPreemptionBuffer
    topology: bool = True  # pods are placed where a flavor has a topology: gate TopologyAwareScheduling
    topology_recompute: bool = True  # places that others of the cycle took: gate TASRecompute…Cycle
    topology_fail_fast: bool = True  # evict if a failed node has no other: gate TAS…FailFast
    topology_mixed: bool = True  # unconstrained pods fill up nodes first: gate TASProfileMixed
    topology_balanced: bool = False  # spread evenly over few domains: gate TASBalancedPlacement
    topology_prefers_affinity: bool = False  # gate TASRespectNodeAffinityPreferred
    topology_elastic: bool = False  # slices keep their pods: gate ElasticJobsViaWorkloadSlicesWithTAS
    topology_keeps_pinned: bool = True  # gate SkipReassignmentForPodOwnedWorkloads
    immediate_unparking: bool = False  # ours: parked workloads are tried along with all others
    run_time_ms_min: int = 0  # ours: before it a running workload is not preempted (rules/min_runtime.py)
    aging: Aging | None = None  # ours: see Aging
    backfill: bool = False  # ours: rules/backfill.py
