"""Stacks whose queues do not agree with the rest, each with the whole message."""

import pytest

from stacks.settings import SettingsError, parse
from tests.unit.stacks.builders import CIRCLE, FILE, TEAM_A, Case, put

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
        "a local queue that leads nowhere",
        put("muster:tenants", 0, "queues", "user-queue", "team-b"),
        "muster:tenants[0].queues.user-queue",
        '"team-b"',
        "the name of a cluster queue in this file",
        "did you mean team-a?",
    ),
    Case(
        "a tenant in a namespace of the system",
        put("muster:tenants", 0, "namespace", "kube-system"),
        "muster:tenants[0].namespace",
        '"kube-system"',
        "a namespace of the team's own: not default, kueue-system, muster-system, nor one of "
        "the system's (kube-*, gke-*, gmp-*)",
        "choose another name",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_message(case: Case) -> None:
    with pytest.raises(SettingsError) as refused:
        parse(case.config, FILE)

    assert str(refused.value) == case.message
