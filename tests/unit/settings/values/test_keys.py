"""Stacks with a key, or a name among keys, that is misspelt or too long."""

from typing import get_args

import pytest

from settings.model.operators.kuberay import Gate
from tests.unit.settings.builders import SYSTEM, Case, put, refusal

CASES = [
    Case(
        "a local queue of 64 characters",
        put("muster:tenants", 0, "queues", {"q" * 64: "team-a"}),
        "muster:tenants[0].queues.qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq",
        '"team-a"',
        "a name of at most 63 characters, which is the value of a label (Kubernetes, labels); this "
        "one has 64",
        "choose a shorter one",
    ),
    Case(
        "a priority of 64 characters",
        put("muster:admission", "priorities", {"p" * 64: 1}),
        "muster:admission.priorities.pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp",
        "1",
        "a name of at most 63 characters, which is the value of a label (Kubernetes, labels); this "
        "one has 64",
        "choose a shorter one",
    ),
    Case(
        "a flavor of 64 characters",
        put("muster:pools", 2, {**SYSTEM, "name": "more", "flavor": "f" * 64}),
        "muster:pools[2].flavor",
        '"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"',
        "a name of at most 63 characters, which is the value of a label (Kubernetes, labels); this "
        "one has 64",
        "choose a shorter one",
    ),
    Case(
        "a feature gate of Kueue misspelt",
        put("muster:admission", {"engine": "kueue"})
        | {"muster:kueue": {"featureGates": {"TopologyAwareSheduling": True}}},
        "muster:kueue.featureGates.TopologyAwareSheduling",
        "true",
        "a feature gate of Kueue 0.19.2 (pkg/features/kube_features.go)",
        "did you mean TopologyAwareScheduling?",
    ),
    Case(
        "a feature gate of the controller misspelt",
        put("muster:controller", "featureGates", {"PartialAdmision": True}),
        "muster:controller.featureGates.PartialAdmision",
        '"PartialAdmision"',
        "one of CleanupProvisioningRequestsOnEviction, "
        "FairSharingPreemptWithinNominal, FairSharingPrioritizeNonBorrowing, "
        "FlavorFungibilityPreserveScanProgress, PartialAdmission, PrioritizePreemptorWorkloads, "
        "PriorityBoost, PrioritySortingWithinCohort, ReclaimablePods, "
        "RecomputeAssignmentUponPreemptionTargetsOverlap, SchedulerTimestampPreemptionBuffer, "
        "SkipReassignmentForPodOwnedWorkloads, TASBalancedPlacement, "
        "TASFailedNodeReplacementFailFast, TASProfileMixed, "
        "TASRecomputeAssignmentWithinSchedulingCycle, TASRespectNodeAffinityPreferred, "
        "TopologyAwareScheduling",
        "did you mean PartialAdmission?",
    ),
    Case(
        "a feature gate of KubeRay misspelt",
        put("muster:kuberay", {"featureGates": {"RayCronjob": True}}),
        "muster:kuberay.featureGates.RayCronjob",
        '"RayCronjob"',
        f"one of {', '.join(get_args(Gate))}",
        "did you mean RayCronJob?",
    ),
    Case(
        "an assumption misspelt",
        put("muster:forecast", {"assumptions": {"startup_s": 60}}),
        "muster:forecast.assumptions.startup_s",
        "60",
        "the name of an assumption",
        "did you mean start_up_s?",
    ),
    Case(
        "the package misspelt",
        put("mustr:tenants", []),
        "mustr:tenants",
        "[]",
        "a key of the package muster, or of another one, such as gcp:region",
        "did you mean muster:tenants?",
    ),
    Case(
        "the package in capitals",
        put("Muster:pools", []),
        "Muster:pools",
        "[]",
        "a key of the package muster, or of another one, such as gcp:region",
        "did you mean muster:pools?",
    ),
    Case(
        "the package of another name",
        put("ray:tenants", []),
        "ray:tenants",
        "[]",
        "a key of the package muster, or of another one, such as gcp:region",
        "did you mean muster:tenants?",
    ),
    Case(
        "no package",
        put("tenants", []),
        "tenants",
        "[]",
        "a key of the package muster, or of another one, such as gcp:region",
        "did you mean muster:tenants?",
    ),
    Case(
        "no package, and a key misspelt",
        put("tenant", []),
        "tenant",
        "[]",
        "a key of the package muster, or of another one, such as gcp:region",
        "did you mean muster:tenants?",
    ),
    Case(
        "the project misspelt",
        put("gcp:projct", "acme-ml"),
        "gcp:projct",
        '"acme-ml"',
        "a key of the package muster, or of another one, such as gcp:region",
        "did you mean gcp:project?",
    ),
    Case(
        "the package of the project misspelt",
        put("gpc:project", "acme-ml"),
        "gpc:project",
        '"acme-ml"',
        "a key of the package muster, or of another one, such as gcp:region",
        "did you mean gcp:project?",
    ),
    Case(
        "the region of the provider misspelt",
        put("gcp:regoin", "us-west1"),
        "gcp:regoin",
        '"us-west1"',
        "a key of the package muster, or of another one, such as gcp:region",
        "did you mean gcp:region?",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_mistaken_keys_are_refused(case: Case) -> None:
    assert refusal(case.config) == case.message
