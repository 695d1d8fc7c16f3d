"""Stacks with invalid queues, each with its error message."""

from typing import Any

import pytest

from settings.load import parse
from tests.unit.settings.builders import CIRCLE, FILE, GOOD, TEAM_A, Case, put, refusal

PROVISIONING = "kueue.x-k8s.io/provisioning-request"
PRICES = {"currency": "USD", "date": "2026-11-26", "source": "a contract", "acceleratorHour": {"l4": 1.5}}
BUDGET = {"name": "budget", "controller": "acme.example/budget"}


def _with_engine_kueue(*path_and_value: Any) -> dict[str, Any]:
    return {**put(*path_and_value), "muster:admission": {"engine": "kueue"}}


def _with_budget(*path_and_value: Any) -> dict[str, Any]:
    config = put(*path_and_value)
    config["muster:queues"]["checks"] = [BUDGET]
    return config


HALVED_DAILY = {"admissionFairSharing": {"usageHalfLifeSeconds": 86400}}
BY_USAGE: tuple[Any, ...] = (*TEAM_A, "admissionFairSharing")

CASES = [
    Case(
        "sharing by usage with engine muster",
        put(*BY_USAGE, True),
        "muster:queues.clusterQueues[0].admissionFairSharing",
        "true",
        "false: engine muster keeps no history of what LocalQueues used, and orders by priority and time "
        "alone (docs/conformance.md)",
        "remove it, give each team a cluster queue with a `weight`, or choose engine: kueue",
    ),
    Case(
        "sharing by usage that Kueue is not configured for",
        _with_engine_kueue(*BY_USAGE, True),
        "muster:queues.clusterQueues[0].admissionFairSharing",
        "true",
        "false: it has no effect without `admissionFairSharing` in `muster:kueue` (Kueue)",
        "remove it, or add `muster:kueue: {admissionFairSharing: {usageHalfLifeSeconds: 86400}}`",
    ),
    Case(
        "a weight in a queue that is not shared by usage",
        put("muster:tenants", 0, "weight", 2),
        "muster:tenants[0].weight",
        "2",
        "no weight: none of its cluster queues has `admissionFairSharing`",
        "remove it, or add `admissionFairSharing: true` to its cluster queue",
    ),
    Case(
        "a sample of usage every 0 seconds",
        {
            **_with_engine_kueue(*BY_USAGE, True),
            "muster:kueue": {"admissionFairSharing": {"usageHalfLifeSeconds": 1, "usageSamplingSeconds": 0}},
        },
        "muster:kueue.admissionFairSharing.usageSamplingSeconds",
        "0",
        "1 or more",
        "raise it",
    ),
    Case(
        "two cohorts of one name",
        put("muster:queues", "cohorts", 1, {"name": "ml"}),
        "muster:queues.cohorts[1].name",
        '"ml"',
        "a unique cohort name",
        "ml is already in use; choose another name",
    ),
    Case(
        "two cluster queues of one name",
        put("muster:queues", "clusterQueues", 1, {"name": "team-a", "quotas": {"cpu": {"cpu": 1}}}),
        "muster:queues.clusterQueues[1].name",
        '"team-a"',
        "a unique cluster queue name",
        "team-a is already in use; choose another name",
    ),
    Case(
        "two tenants in one namespace",
        put("muster:tenants", 1, {"namespace": "team-a", "queues": {"other": "team-a"}}),
        "muster:tenants[1].namespace",
        '"team-a"',
        "a unique namespace",
        "team-a is already in use; choose another name",
    ),
    Case(
        "a limit of waits in an unknown queue",
        put("muster:forecast", {"limits": [{"queue": "team-x", "maxMinutes": 5}]}),
        "muster:forecast.limits[0].queue",
        '"team-x"',
        "the name of a cluster queue in this file",
        "did you mean team-a?",
    ),
    Case(
        "a service level without a share",
        put(
            "muster:forecast",
            {"limits": [{"queue": "team-a", "statistic": "within", "maxMinutes": 5}]},
        ),
        "muster:forecast.limits[0]",
        '{"queue": "team-a", "statistic": "within", "maxMinutes": 5}',
        "minPercent with statistic within, and only with it",
        "set both, or neither",
    ),
    Case(
        "a share of another statistic",
        put("muster:forecast", {"limits": [{"queue": "team-a", "maxMinutes": 5, "minPercent": 95}]}),
        "muster:forecast.limits[0]",
        '{"queue": "team-a", "maxMinutes": 5, "minPercent": 95}',
        "minPercent with statistic within, and only with it",
        "set both, or neither",
    ),
    Case(
        "a price of an unknown flavor",
        put("muster:forecast", {"prices": PRICES | {"acceleratorHour": {"l44": 1.5}}}),
        "muster:forecast.prices.acceleratorHour.l44",
        "1.5",
        "the flavor of a pool in this file",
        "did you mean l4?",
    ),
    Case(
        "prices of no day",
        put("muster:forecast", {"prices": PRICES | {"date": "November"}}),
        "muster:forecast.prices.date",
        '"November"',
        "a day, such as 2026-11-26",
        "write year, month and day",
    ),
    Case(
        "prices in no currency",
        put("muster:forecast", {"prices": PRICES | {"currency": "$"}}),
        "muster:forecast.prices.currency",
        '"$"',
        "a currency: three letters (ISO 4217)",
        "write its code, such as USD",
    ),
    Case(
        "a queue in an unknown cohort",
        put(*TEAM_A, "cohort", "mll"),
        "muster:queues.clusterQueues[0].cohort",
        '"mll"',
        "the name of a cohort in this file",
        "did you mean ml?",
    ),
    Case(
        "an unknown parent",
        put("muster:queues", "cohorts", 0, "parent", "org"),
        "muster:queues.cohorts[0].parent",
        '"org"',
        "the name of a cohort in this file",
        "choose one of ml",
    ),
    Case(
        "a cycle of cohorts",
        put("muster:queues", "cohorts", CIRCLE),
        "muster:queues.cohorts[0].parent",
        '"org"',
        "a tree; this is a cycle: ml -> org -> ml",
        "remove `parent` from one of them",
    ),
    Case(
        "a quota of an unknown flavor",
        put(*TEAM_A, "quotas", "l5", {"cpu": 1}),
        "muster:queues.clusterQueues[0].quotas.l5",
        '{"cpu": 1}',
        "the flavor of a pool in this file",
        "choose one of cpu, l4",
    ),
    Case(
        "a quota of GPUs on a pool without GPUs",
        put(*TEAM_A, "quotas", "cpu", "nvidia.com/gpu", 1),
        'muster:queues.clusterQueues[0].quotas.cpu["nvidia.com/gpu"]',
        "1",
        "a resource that nodes of pool system have: cpu, memory, pods, ephemeral-storage",
        "remove it, or give pool system a `gpu`",
    ),
    Case(
        "a quota of a resource misspelt",
        put(*TEAM_A, "quotas", "cpu", "memori", 1),
        "muster:queues.clusterQueues[0].quotas.cpu.memori",
        '"memori"',
        "a resource: cpu, memory, ephemeral-storage, pods or one of a vendor, such as nvidia.com/gpu",
        "did you mean memory?",
    ),
    Case(
        "a borrowing limit without a cohort",
        put(*TEAM_A, {**GOOD["muster:queues"]["clusterQueues"][0], "cohort": None, "preemption": {}}),
        'muster:queues.clusterQueues[0].quotas.l4["nvidia.com/gpu"].borrowingLimit',
        "0",
        "no limit: a queue without a cohort neither borrows nor lends (Kueue)",
        "remove `borrowingLimit`, or give the queue a `cohort`",
    ),
    Case(
        "a lending limit above the quota",
        put(*TEAM_A, "quotas", "cpu", "cpu", {"nominal": 2, "lendingLimit": "2500m"}),
        "muster:queues.clusterQueues[0].quotas.cpu.cpu.lendingLimit",
        '"2500m"',
        "at most the nominal quota, which is 2 (Kueue)",
        "lower `lendingLimit` or raise `nominal`",
    ),
    Case(
        "a cohort's limit without a parent",
        put("muster:queues", "cohorts", 0, "quotas", {"cpu": {"cpu": {"nominal": 1, "lendingLimit": 1}}}),
        "muster:queues.cohorts[0].quotas.cpu.cpu.lendingLimit",
        "1",
        "no limit: a cohort without a parent neither borrows nor lends (Kueue)",
        "remove `lendingLimit`, or give the cohort a `parent`",
    ),
    Case(
        "a cohort's quota of an unknown flavor",
        put("muster:queues", "cohorts", 0, "quotas", {"cpus": {"cpu": 4}}),
        "muster:queues.cohorts[0].quotas.cpus",
        '{"cpu": 4}',
        "the flavor of a pool in this file",
        "did you mean cpu?",
    ),
    Case(
        "preemption to borrow without preemption to reclaim",
        _with_engine_kueue(
            *TEAM_A,
            "preemption",
            {"reclaimWithinCohort": "Never", "borrowWithinCohort": {"policy": "LowerPriority"}},
        ),
        "muster:queues.clusterQueues[0].preemption.borrowWithinCohort.policy",
        '"LowerPriority"',
        "Never, because reclaimWithinCohort is Never (Kueue)",
        "set `reclaimWithinCohort` to LowerPriority or Any, or remove `borrowWithinCohort`",
    ),
    Case(
        "a queue's weight without Muster's fair sharing",
        put(*TEAM_A, "weight", 2),
        "muster:queues.clusterQueues[0].weight",
        "2",
        "no weight: it has no effect without `fairSharing` in `muster:controller`",
        "remove it, or add `muster:controller: {fairSharing: {}}`",
    ),
    Case(
        "a cohort's weight without Muster's fair sharing",
        put("muster:queues", "cohorts", 0, "weight", 2),
        "muster:queues.cohorts[0].weight",
        "2",
        "no weight: it has no effect without `fairSharing` in `muster:controller`",
        "remove it, or add `muster:controller: {fairSharing: {}}`",
    ),
    Case(
        "a negative weight",
        _with_engine_kueue(*TEAM_A, "weight", -1),
        "muster:queues.clusterQueues[0].weight",
        "-1",
        "a weight of 0 or more; the default is 1",
        "write a number, such as 2 or 0.5",
    ),
    Case(
        "a preference with a single option",
        put(*TEAM_A, "flavorFungibility", {"preference": "BorrowingOverPreemption"}),
        "muster:queues.clusterQueues[0].flavorFungibility",
        '{"preference": "BorrowingOverPreemption"}',
        "a preference only if whenCanBorrow and whenCanPreempt are both TryNextFlavor (Kueue)",
        "remove `preference`, or set both to TryNextFlavor",
    ),
    Case(
        "a check that is not declared",
        put(*TEAM_A, "checks", {"budget": []}),
        "muster:queues.clusterQueues[0].checks.budget",
        "[]",
        "the name of a check in muster:queues.checks",
        "none is defined yet: add it first",
    ),
    Case(
        "a check on a flavor without quota",
        _with_budget(*TEAM_A, "checks", {"budget": ["l44"]}),
        "muster:queues.clusterQueues[0].checks.budget[0]",
        '"l44"',
        "a flavor in which this queue has quota (Kueue)",
        "did you mean l4?",
    ),
    Case(
        "a user-defined provisioning check",
        put("muster:queues", "checks", [{"name": "mine", "controller": PROVISIONING}]),
        "muster:queues.checks[0].controller",
        f'"{PROVISIONING}"',
        "another controller: the stack adds the provisioning check of queued pools",
        "remove this check; configure it in `muster:admission.queuedProvisioning`",
    ),
    Case(
        "two checks of one name",
        put("muster:queues", "checks", [BUDGET, BUDGET]),
        "muster:queues.checks[1].name",
        '"budget"',
        "a unique check name",
        "budget is already in use; choose another name",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_invalid_queues_are_refused(case: Case) -> None:
    assert refusal(case.config) == case.message


SHARED_BY_USAGE = {
    "Kueue with its configuration": {"muster:kueue": HALVED_DAILY},
    "a Kueue that is already there": {"muster:kueue": {"install": "existing"}},
}


@pytest.mark.parametrize("kueue", SHARED_BY_USAGE.values(), ids=SHARED_BY_USAGE.keys())
def test_queues_are_shared_by_usage_with_engine_kueue(kueue: dict[str, Any]) -> None:
    config = {**_with_engine_kueue(*BY_USAGE, True), **kueue}
    config["muster:tenants"][0]["weight"] = 2
    assert parse(config, FILE).tenants[0].weight == "2"
