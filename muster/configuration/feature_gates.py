"""Kueue's feature gates (pkg/features/kube_features.go) that switch a rule of the core, by Kueue's names.

A gate that is left out has Kueue's default, which is also the default of the rule. docs/conformance.md lists
the gates in Kueue's test cases that can not be set, and why.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from muster.admission import Rules

PREEMPTION_BUFFER_MS = 5 * 60 * 1000  # Kueue: timestampPreemptionBuffer, pkg/scheduler/preemption/common

_RULES = {
    "FlavorFungibilityPreserveScanProgress": "keep_flavor_scan",
    "PartialAdmission": "partial_admission",
    "PrioritizePreemptorWorkloads": "prioritize_preemptors",
    "PriorityBoost": "priority_boost",
    "PrioritySortingWithinCohort": "priority_sorting_within_cohort",
    "ReclaimablePods": "reclaimable_pods",
    "RecomputeAssignmentUponPreemptionTargetsOverlap": "recompute_overlapping",
    "SkipReassignmentForPodOwnedWorkloads": "topology_keeps_pinned",
    "TASBalancedPlacement": "topology_balanced",
    "TASFailedNodeReplacementFailFast": "topology_fail_fast",
    "TASProfileMixed": "topology_mixed",
    "TASRecomputeAssignmentWithinSchedulingCycle": "topology_recompute",
    "TASRespectNodeAffinityPreferred": "topology_prefers_affinity",
    "TopologyAwareScheduling": "topology",
}
_FAIR_SHARING = {
    "FairSharingPreemptWithinNominal": "preempt_within_nominal",
    "FairSharingPrioritizeNonBorrowing": "prioritize_non_borrowing",
}
_BUFFER = "SchedulerTimestampPreemptionBuffer"

SUPPORTED = tuple(sorted((*_RULES, *_FAIR_SHARING, _BUFFER)))


def gated(rules: Rules, gates: Mapping[str, bool]) -> Rules:
    """Returns the rules with these gates set. Raises: ValueError naming a gate that can not be set."""
    for name in gates:
        if name not in SUPPORTED:
            raise ValueError(f"featureGates: {name} can not be set; expected one of: {', '.join(SUPPORTED)}")
        if name in _FAIR_SHARING and rules.fair_sharing is None:
            raise ValueError(f"featureGates: {name} says how shares are weighed: set fairSharing too")
    fair: dict[str, Any] = {_FAIR_SHARING[name]: on for name, on in gates.items() if name in _FAIR_SHARING}
    switched: dict[str, Any] = {_RULES[name]: on for name, on in gates.items() if name in _RULES}
    return replace(
        rules,
        fair_sharing=replace(rules.fair_sharing, **fair) if rules.fair_sharing else None,
        preemption_buffer_ms=PREEMPTION_BUFFER_MS if gates.get(_BUFFER) else 0,
        **switched,
    )
