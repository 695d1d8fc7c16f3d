"""The feature gates of Kueue that can be set, and why others can't.

A gate that is not set has Kueue's default, which is also the default of the rule. Source: Kueue
pkg/features/kube_features.go at v0.19.2.
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
CLEANUP = "CleanupProvisioningRequestsOnEviction"
"""The gate for deleting a Workload's ProvisioningRequests on its eviction, which the controller
implements."""

SUPPORTED = tuple(sorted((*_RULES, *_FAIR_SHARING, _BUFFER, CLEANUP)))

_REASONS: Mapping[str, tuple[str, ...]] = {
    "Muster always behaves as with Kueue's default": (
        "FinishOrphanedWorkloads",
        "FlavorFungibility",
        "HierarchicalCohorts",
        "ManagedJobsNamespaceSelectorAlwaysRespected",
        "ObjectRetentionPolicies",
        "TASFailedNodeReplacement",
        "TASHandleOverlappingFlavors",
        "TASMultiLayerTopology",
        "TASReplaceNodeOnNodeTaints",
        "TASReplaceNodeOnPodTermination",
        "TASValidateWorkloadSliceSize",
        "ValidateRayAndSparkJobUpdates",
        "WorkloadValidateResourcesAreNonNegative",
        "WorkloadValidationForPodSetMetadata",
    ),
    "it affects how Kueue computes, stores or reports, but no decisions": (
        "AssignQueueLabelsForPods",
        "CustomMetricLabels",
        "LocalQueueMetrics",
        "MetricForWorkloadCreationLatency",
        "MetricsForCohorts",
        "RemoveFinalizersWithStrictPatch",
        "SchedulerLongRequeueInterval",
        "SchedulingEquivalenceHashing",
        "ShortWorkloadNames",
        "SkipAncestorCheckForDeletedWorkloads",
        "TASAssignmentsEncodingByHostnamePrefix",
        "TASCacheNodeMatchResults",
        "TASCacheTopologyTree",
        "TASCachingRemainingResources",
        "TLSOptions",
        "UnadmittedWorkloadsExplicitStatus",
        "UnadmittedWorkloadsObservability",
        "VectorizedResourceRequests",
        "VisibilityOnDemand",
        "WorkloadIdentifierAnnotations",
        "WorkloadRequestUseMergePatch",
    ),
    "it affects only jobs other than Ray's, which Muster does not manage": (
        "FastQuotaReleaseInPodIntegration",
        "LWSImmutableGroupSize",
        "PodIntegrationValidateGroupOwner",
        "PropagateBatchJobLabelsToWorkload",
        "SkipFinalizersForPodsSuspendedByParent",
        "SparkApplicationIntegration",
    ),
    "Muster does not support MultiKueue": (
        "MultiKueue",
        "MultiKueueAdaptersForCustomJobs",
        "MultiKueueAllowInsecureKubeconfigs",
        "MultiKueueClusterProfile",
        "MultiKueueIncrementalDispatcherConfig",
        "MultiKueueIncrementalDispatcherRespectConfigOrder",
        "MultiKueueKubeConfigPathValidation",
        "MultiKueueManagerQuotaAutomation",
        "MultiKueueOrchestratedPreemption",
        "MultiKueueRedoAdmissionOnEvictionInWorker",
        "MultiKueueRemoteSpecSync",
        "MultiKueueWaitForWorkloadAdmitted",
    ),
    "Muster always counts devices of ResourceClaims, each as a whole": (
        "KueueDRAIntegration",
        "KueueDRAIntegrationConsumableCapacity",
        "KueueDRAIntegrationExtendedResource",
        "KueueDRAIntegrationPartitionableDevices",
        "KueueDRARejectWorkloadsWhenDRADisabled",
    ),
    "a Ray gang has a fixed size, so there are no slices of Workloads": (
        "ElasticJobsViaWorkloadSlices",
        "ElasticJobsViaWorkloadSlicesWithTAS",
    ),
    "waitForPodsReady is off by default: leave it unset instead": ("DisableWaitForPodsReady",),
    "Muster does not support the feature": (
        "AdmissionFairSharing",
        "AdmissionGatedBy",
        "ConcurrentAdmission",
        "DeferRayServiceFinalizationForRedisCleanup",
        "FailureRecoveryPolicy",
        "QuotaCheckStrategy",
        "RejectUpdatesToCQWithInvalidOnFlavors",
        "SchedulerLibraryIntegration",
        "TASReplaceNodeDueToNotReadyOverFixedTime",
        "WorkloadPriorityClassDefaulting",
    ),
}
REFUSED: Mapping[str, str] = {gate: why for why, gates in _REASONS.items() for gate in gates}
"""The reason why each other gate of Kueue cannot be set."""


def with_gates(rules: Rules, gates: Mapping[str, bool]) -> Rules:
    """Returns the rules with these gates applied. Raises: ValueError that names a gate that can't be set."""
    for name in gates:
        if name in REFUSED:
            raise ValueError(f"featureGates: {name} can't be set: {REFUSED[name]}; remove it")
        if name not in SUPPORTED:
            raise ValueError(f"featureGates: {name} is unknown; expected one of: {', '.join(SUPPORTED)}")
        if name in _FAIR_SHARING and rules.fair_sharing is None:
            raise ValueError(f"featureGates: {name} needs fair sharing: set fairSharing too")
    fair: dict[str, Any] = {_FAIR_SHARING[name]: on for name, on in gates.items() if name in _FAIR_SHARING}
    switched: dict[str, Any] = {_RULES[name]: on for name, on in gates.items() if name in _RULES}
    return replace(
        rules,
        fair_sharing=replace(rules.fair_sharing, **fair) if rules.fair_sharing else None,
        preemption_buffer_ms=PREEMPTION_BUFFER_MS if gates.get(_BUFFER) else 0,
        **switched,
    )
