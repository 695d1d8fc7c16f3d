"""Stacks whose queues do not agree with the rest, each with the whole message."""

from typing import Any

import pytest

from tests.unit.settings.builders import CIRCLE, TEAM_A, Case, put, refusal

PROVISIONING = "kueue.x-k8s.io/provisioning-request"
BUDGET = {"name": "budget", "controller": "acme.example/budget"}


def _with_engine_kueue(*path_and_value: Any) -> dict[str, Any]:
    return {**put(*path_and_value), "muster:admission": {"engine": "kueue"}}


def _with_budget(*path_and_value: Any) -> dict[str, Any]:
    config = put(*path_and_value)
    config["muster:queues"]["checks"] = [BUDGET]
    return config


CASES = [
    Case(
        "two cohorts of one name",
        put("muster:queues", "cohorts", 1, {"name": "ml"}),
        "muster:queues.cohorts[1].name",
        '"ml"',
        "a cohort name of its own",
        "ml is taken already; choose another name",
    ),
    Case(
        "two cluster queues of one name",
        put("muster:queues", "clusterQueues", 1, {"name": "team-a", "quotas": {"cpu": {"cpu": 1}}}),
        "muster:queues.clusterQueues[1].name",
        '"team-a"',
        "a cluster queue name of its own",
        "team-a is taken already; choose another name",
    ),
    Case(
        "two tenants in one namespace",
        put("muster:tenants", 1, {"namespace": "team-a", "queues": {"other": "team-a"}}),
        "muster:tenants[1].namespace",
        '"team-a"',
        "a namespace of its own",
        "team-a is taken already; choose another name",
    ),
    Case(
        "a cohort that is not there",
        put(*TEAM_A, "cohort", "mll"),
        "muster:queues.clusterQueues[0].cohort",
        '"mll"',
        "the name of a cohort in this file",
        "did you mean ml?",
    ),
    Case(
        "a parent that is not there",
        put("muster:queues", "cohorts", 0, "parent", "org"),
        "muster:queues.cohorts[0].parent",
        '"org"',
        "the name of a cohort in this file",
        "choose one of ml",
    ),
    Case(
        "cohorts in a circle",
        put("muster:queues", "cohorts", CIRCLE),
        "muster:queues.cohorts[0].parent",
        '"org"',
        "a tree; this goes round: ml -> org -> ml",
        "remove `parent` from one of them",
    ),
    Case(
        "a quota of a flavor that no pool yields",
        put(*TEAM_A, "quotas", "l5", {"cpu": 1}),
        "muster:queues.clusterQueues[0].quotas.l5",
        '{"cpu": 1}',
        "the flavor of a pool in this file",
        "choose one of cpu, l4",
    ),
    Case(
        "a quota of GPUs on a pool without",
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
        "1",
        "a resource that nodes of pool system have: cpu, memory, pods, ephemeral-storage",
        "did you mean memory?",
    ),
    Case(
        "a limit on borrowing from no cohort",
        put(*TEAM_A, "cohort", None),
        'muster:queues.clusterQueues[0].quotas.l4["nvidia.com/gpu"].borrowingLimit',
        "0",
        "no limit: a queue without a cohort neither borrows nor lends (Kueue)",
        "remove `borrowingLimit`, or give the queue a `cohort`",
    ),
    Case(
        "more lent than there is",
        put(*TEAM_A, "quotas", "cpu", "cpu", {"nominal": 2, "lendingLimit": "2500m"}),
        "muster:queues.clusterQueues[0].quotas.cpu.cpu.lendingLimit",
        '"2500m"',
        "at most the nominal quota, which is 2 (Kueue)",
        "lower the one or raise the other",
    ),
    Case(
        "a cohort's limit without a parent",
        put("muster:queues", "cohorts", 0, "quotas", {"cpu": {"cpu": {"nominal": 4, "lendingLimit": 2}}}),
        "muster:queues.cohorts[0].quotas.cpu.cpu.lendingLimit",
        "2",
        "no limit: a cohort without a parent neither borrows nor lends (Kueue)",
        "remove `lendingLimit`, or give the cohort a `parent`",
    ),
    Case(
        "a cohort's quota of nodes that nobody makes",
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
        "Never, as long as reclaimWithinCohort is Never (Kueue)",
        "set `reclaimWithinCohort` to LowerPriority or Any, or remove `borrowWithinCohort`",
    ),
    Case(
        "a queue's weight that Muster is not told to read",
        put(*TEAM_A, "weight", 2),
        "muster:queues.clusterQueues[0].weight",
        "2",
        "no weight: Muster weighs no shares unless told to",
        "remove it, or add `muster:controller: {fairSharing: {}}`",
    ),
    Case(
        "a cohort's weight that Muster is not told to read",
        put("muster:queues", "cohorts", 0, "weight", 2),
        "muster:queues.cohorts[0].weight",
        "2",
        "no weight: Muster weighs no shares unless told to",
        "remove it, or add `muster:controller: {fairSharing: {}}`",
    ),
    Case(
        "a negative weight",
        _with_engine_kueue(*TEAM_A, "weight", -1),
        "muster:queues.clusterQueues[0].weight",
        "-1",
        "a weight of 0 or more, 1 being the usual one",
        "write a number, such as 2 or 0.5",
    ),
    Case(
        "a preference with nothing to choose from",
        put(*TEAM_A, "flavorFungibility", {"preference": "BorrowingOverPreemption"}),
        "muster:queues.clusterQueues[0].flavorFungibility",
        '{"preference": "BorrowingOverPreemption"}',
        "a preference only where whenCanBorrow and whenCanPreempt are both TryNextFlavor (Kueue)",
        "remove `preference`, or set both to TryNextFlavor",
    ),
    Case(
        "a check that is not declared",
        put(*TEAM_A, "checks", {"budget": []}),
        "muster:queues.clusterQueues[0].checks.budget",
        "[]",
        "the name of a check in muster:queues.checks",
        "there is none yet: add it first",
    ),
    Case(
        "a check on a flavor that the queue has none of",
        _with_budget(*TEAM_A, "checks", {"budget": ["l44"]}),
        "muster:queues.clusterQueues[0].checks.budget[0]",
        '"l44"',
        "a flavor that this queue has quota of (Kueue)",
        "did you mean l4?",
    ),
    Case(
        "a provisioning check of one's own",
        put("muster:queues", "checks", [{"name": "mine", "controller": PROVISIONING}]),
        "muster:queues.checks[0].controller",
        f'"{PROVISIONING}"',
        "another controller: queued pools get their provisioning check by themselves",
        "remove this check; `muster:admission.queuedProvisioning` is where it is set",
    ),
    Case(
        "two checks of one name",
        put("muster:queues", "checks", [BUDGET, BUDGET]),
        "muster:queues.checks[1].name",
        '"budget"',
        "a check name of its own",
        "budget is taken already; choose another name",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_message(case: Case) -> None:
    assert refusal(case.config) == case.message
