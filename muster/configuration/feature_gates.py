"""Kueue's feature gates (pkg/features/kube_features.go at v0.19.2): those that can be set, and why others
cannot.

A gate that is left out has Kueue's default, which is also the default of the rule.
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
"""Whether a Workload's ProvisioningRequests are deleted when it is evicted: a rule of the controller."""

SUPPORTED = tuple(sorted((*_RULES, *_FAIR_SHARING, _BUFFER, CLEANUP)))

_REASONS: Mapping[str, tuple[str, ...]] = {
    "Muster has no switch for it, and decides as with Kueue's default": (
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
    "it does not change what is decided: it concerns how Kueue computes, stores or reports": (
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
    "it is for jobs other than Ray's, which Muster does not manage": (
        "FastQuotaReleaseInPodIntegration",
        "LWSImmutableGroupSize",
        "PodIntegrationValidateGroupOwner",
        "PropagateBatchJobLabelsToWorkload",
        "SkipFinalizersForPodsSuspendedByParent",
        "SparkApplicationIntegration",
    ),
    "Muster is no MultiKueue manager": (
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
    "Muster does not count devices of ResourceClaims": (
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
    "set waitForPodsReady instead, which is off unless it is set": ("DisableWaitForPodsReady",),
    "Muster does not support what it switches": (
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
"""Why each other gate of Kueue cannot be set."""


def gated(rules: Rules, gates: Mapping[str, bool]) -> Rules:
    """Returns the rules with these gates set. Raises: ValueError naming a gate that can not be set."""
    for name in gates:
        if name in REFUSED:
            raise ValueError(f"featureGates: {name} can not be set: {REFUSED[name]}; remove it")
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
