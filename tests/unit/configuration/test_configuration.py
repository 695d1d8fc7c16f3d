"""The part of Kueue's Configuration that the controller reads."""

import json
from dataclasses import replace
from operator import attrgetter
from typing import Any

import pytest

from muster.admission import Aging, FairSharing, FairStrategy, Rules
from muster.admission.lifecycle import Backoff, WaitForPodsReady
from muster.configuration.configuration import Configuration, Retention, parse
from muster.configuration.feature_gates import CLEANUP, REFUSED, SUPPORTED
from settings.model.operators.kueue_gates import KUEUE_GATES


def waiting(**fields: Any) -> Configuration:
    return Configuration(wait_for_pods_ready=WaitForPodsReady(**fields))


PODS_READY = waiting(timeout_s=1800, recovery_timeout_s=1800)
CONFIGURATIONS: dict[str, tuple[dict[str, Any], Configuration]] = {
    "no waitForPodsReady": ({}, Configuration()),
    "fair sharing": (
        {"fairSharing": {}},
        Configuration(Rules(fair_sharing=FairSharing())),
    ),
    "fair sharing with one strategy": (
        {"fairSharing": {"preemptionStrategies": ["LessThanInitialShare"]}},
        Configuration(Rules(fair_sharing=FairSharing((FairStrategy.LESS_THAN_INITIAL_SHARE,)))),
    ),
    "Kueue's gates": (
        {"featureGates": {"PriorityBoost": True, "PartialAdmission": False}},
        Configuration(Rules(priority_boost=True, partial_admission=False)),
    ),
    "gates of fair sharing": (
        {"fairSharing": {}, "featureGates": {"FairSharingPreemptWithinNominal": False}},
        Configuration(Rules(fair_sharing=FairSharing(preempt_within_nominal=False))),
    ),
    "a gate for a time": (
        {"featureGates": {"SchedulerTimestampPreemptionBuffer": True}},
        Configuration(Rules(preemption_buffer_ms=300_000)),
    ),
    "Muster's own rules": (
        {
            "rules": {
                "immediateUnparking": True,
                "backfill": True,
                "minimumRunTime": "10m",
                "aging": {"step": 10, "period": "1h", "max": 100},
            }
        },
        Configuration(
            Rules(
                immediate_unparking=True,
                backfill=True,
                run_time_ms_min=600_000,
                aging=Aging(10, 3_600_000, 100),
            )
        ),
    ),
    "retention": (
        {"objectRetentionPolicies": {"workloads": {"afterFinished": "24h", "afterDeactivatedByKueue": "0s"}}},
        Configuration(retention=Retention(86_400, 0)),
    ),
    "retention of finished Workloads only": (
        {"objectRetentionPolicies": {"workloads": {"afterFinished": "1h30m"}}},
        Configuration(retention=Retention(5_400, None)),
    ),
    "a retention and waitForPodsReady": (
        {"objectRetentionPolicies": {"workloads": {"afterFinished": "1s"}}, "waitForPodsReady": {}},
        Configuration(
            wait_for_pods_ready=WaitForPodsReady(timeout_s=1800, recovery_timeout_s=1800),
            retention=Retention(1, None),
        ),
    ),
    "notice of surplus": ({"elastic": {"notice": "2m"}}, Configuration(notice_ms=120_000)),
    "no notice": ({"elastic": {"notice": "0s"}, "waitForPodsReady": {}}, replace(PODS_READY, notice_ms=0)),
    "Kueue's defaults": ({"waitForPodsReady": {}}, PODS_READY),
    "recovery has the same timeout by default": (
        {"waitForPodsReady": {"timeout": "1h30m"}},
        waiting(timeout_s=5400, recovery_timeout_s=5400),
    ),
    "recovery without a timeout": (
        {"waitForPodsReady": {"timeout": "300s", "recoveryTimeout": "0s"}},
        waiting(timeout_s=300, recovery_timeout_s=None),
    ),
    "everything": (
        {
            "waitForPodsReady": {
                "timeout": "1500ms",
                "recoveryTimeout": "1.5m",
                "blockAdmission": True,
                "requeuingStrategy": {
                    "timestamp": "Creation",
                    "backoffLimitCount": 0,
                    "backoffBaseSeconds": 5,
                    "backoffMaxSeconds": 20,
                },
            }
        },
        Configuration(
            rules=Rules(requeue_behind_others=False),
            wait_for_pods_ready=WaitForPodsReady(
                timeout_s=2,
                recovery_timeout_s=90,
                block_admission=True,
                backoff=Backoff(5, 20),
                retries_max=0,
            ),
        ),
    ),
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_valid_configurations(name: str) -> None:
    json_text, expected = CONFIGURATIONS[name]
    assert parse(json.dumps(json_text)) == expected


def test_the_smallest_aging() -> None:
    aging = parse('{"rules": {"aging": {"step": 1, "period": "1s", "max": 1}}}').rules.aging
    assert aging == Aging(1, 1000, 1)


WRONG = {
    "unknown field": ('{"waitForPodsReady": {"time": "5m"}}', "unknown field `time`"),
    "an aging step of 0": (
        '{"rules": {"aging": {"step": 0, "period": "1h", "max": 9}}}',
        "rules.aging: step and max must be at least 1",
    ),
    "unknown rule": ('{"rules": {"luck": true}}', "luck"),
    "not a duration": (
        '{"waitForPodsReady": {"timeout": "5 min"}}',
        "waitForPodsReady.timeout is '5 min'; expected a duration",
    ),
    "a negative retention": (
        '{"objectRetentionPolicies": {"workloads": {"afterFinished": "-5s"}}}',
        "objectRetentionPolicies.workloads.afterFinished is '-5s'; expected a duration",
    ),
    "a retention of nothing known": (
        '{"objectRetentionPolicies": {"workloads": {"afterDeactivated": "5s"}}}',
        "unknown field `afterDeactivated`",
    ),
    "an empty duration": (
        '{"waitForPodsReady": {"recoveryTimeout": ""}}',
        "recoveryTimeout is ''; expected a duration",
    ),
    "a notice of more than an hour": (
        '{"elastic": {"notice": "61m"}}',
        "elastic.notice is '61m'; expected at most 3600s",
    ),
    "no timestamp": (
        '{"waitForPodsReady": {"requeuingStrategy": {"timestamp": "Now"}}}',
        "requeuingStrategy.timestamp is 'Now'; expected Eviction or Creation",
    ),
    "unknown gate": (
        '{"featureGates": {"ConcurrentAdmissions": true}}',
        "featureGates: ConcurrentAdmissions is unknown; expected one of: CleanupProvisioning",
    ),
    "a gate of fair sharing without fair sharing": (
        '{"featureGates": {"FairSharingPreemptWithinNominal": false}}',
        "FairSharingPreemptWithinNominal needs fair sharing: set fairSharing too",
    ),
    "not JSON": ("waitForPodsReady:", "JSON is malformed"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_name_the_field(name: str) -> None:
    text, sentence = WRONG[name]
    with pytest.raises(ValueError, match=sentence):
        parse(text)


GATES = {  # of Kueue's pkg/features/kube_features.go: the field of Rules or FairSharing, the default
    "FairSharingPreemptWithinNominal": ("fair_sharing.preempt_within_nominal", True),
    "FairSharingPrioritizeNonBorrowing": ("fair_sharing.prioritize_non_borrowing", True),
    "FlavorFungibilityPreserveScanProgress": ("keep_flavor_scan", True),
    "PartialAdmission": ("partial_admission", True),
    "PrioritizePreemptorWorkloads": ("prioritize_preemptors", False),
    "PriorityBoost": ("priority_boost", False),
    "PrioritySortingWithinCohort": ("priority_sorting_within_cohort", True),
    "ReclaimablePods": ("reclaimable_pods", True),
    "RecomputeAssignmentUponPreemptionTargetsOverlap": ("recompute_overlapping", False),
    "SkipReassignmentForPodOwnedWorkloads": ("topology_keeps_pinned", True),
    "TASBalancedPlacement": ("topology_balanced", False),
    "TASFailedNodeReplacementFailFast": ("topology_fail_fast", True),
    "TASProfileMixed": ("topology_mixed", True),
    "TASRecomputeAssignmentWithinSchedulingCycle": ("topology_recompute", True),
    "TASRespectNodeAffinityPreferred": ("topology_prefers_affinity", False),
    "TopologyAwareScheduling": ("topology", True),
}


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("on", [True, False])
def test_a_gate_switches_the_rule_of_its_name(gate: str, on: bool) -> None:
    field, unsaid = GATES[gate]
    for gates, expected in (({gate: on}, on), ({}, unsaid)):
        rules = parse(json.dumps({"fairSharing": {}, "featureGates": gates})).rules
        assert attrgetter(field)(rules) is expected


def test_all_gates_that_can_be_set() -> None:
    assert set(SUPPORTED) == {*GATES, "SchedulerTimestampPreemptionBuffer", CLEANUP}


def test_every_gate_of_kueue_can_be_set_or_is_refused_with_a_reason() -> None:
    assert {*SUPPORTED} | {*REFUSED} == KUEUE_GATES
    assert not {*SUPPORTED} & {*REFUSED}


@pytest.mark.parametrize("gate", REFUSED)
def test_other_gates_of_kueue_are_refused_with_the_reason(gate: str) -> None:
    with pytest.raises(ValueError, match=f"featureGates: {gate} can't be set: {REFUSED[gate]}"):
        parse(json.dumps({"featureGates": {gate: False}}))


@pytest.mark.parametrize("gate", SUPPORTED)
def test_every_gate_switches_a_rule(gate: str) -> None:
    """A gate that is left out has Kueue's default, and one of its two values differs from it."""
    on, off, unsaid = (
        parse(json.dumps({"fairSharing": {}, "featureGates": gates}))
        for gates in ({gate: True}, {gate: False}, {})
    )
    assert on != off
    assert unsaid in (on, off)
