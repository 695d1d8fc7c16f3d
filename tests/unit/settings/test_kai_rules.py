"""Engine `kai`: what it can't do is refused, what it does in its own way is told."""

from typing import Any

import pytest

from settings.load import parse, warnings
from tests.unit.settings.builders import EXISTING, FILE, GOOD, L4, TEAM_A, Case, put, refusal, with_engine

SOURCE = "KAI-scheduler v0.12.0, docs/queues and docs/priority"
QUEUE: dict[str, Any] = GOOD["muster:queues"]["clusterQueues"][0]
LONG = "p" * 57


def with_kai(*path_and_value: Any) -> dict[str, Any]:
    """A stack that is good for KAI, with one value put at a path."""
    *path, last, value = path_and_value
    config = with_engine("kai")
    here: Any = config
    for part in path:
        here = here[part]
    if isinstance(here, list) and last == len(here):
        here.append(value)
    else:
        here[last] = value
    return config


def with_check() -> dict[str, Any]:
    config = with_kai("muster:queues", "checks", [{"name": "budget", "controller": "acme.example/budget"}])
    config["muster:queues"]["clusterQueues"][0]["checks"] = {"budget": []}
    return config


CASES = [
    Case(
        "a queued pool",
        put("muster:admission", "engine", "kai"),
        "muster:pools[1].provisioning",
        '"queued"',
        "nodes that come for pods or stand by (on-demand, spot, reserved, flex-start): KAI makes no "
        "ProvisioningRequests, so a queued pool would stay empty",
        "choose one of those, or engine: muster (or kueue)",
    ),
    Case(
        "a cluster too old to translate labels",
        with_kai("muster:cluster", {**EXISTING, "servesMutatingPolicies": False}),
        "muster:cluster",
        '{"kind": "existing", "name": "sandbox", "servesMutatingPolicies": false}',
        "a cluster that serves MutatingAdmissionPolicy v1 (Kubernetes 1.36), by which Ray objects get KAI's "
        "labels",
        "raise its version, or choose engine: muster (or kueue)",
    ),
    Case(
        "preemption to borrow",
        with_kai(*TEAM_A, "preemption", {"reclaimWithinCohort": "Any", "borrowWithinCohort": {}}),
        "muster:queues.clusterQueues[0].preemption.borrowWithinCohort",
        "{}",
        "no such key: engine kai does not preempt for borrowed quota",
        "remove it, or choose engine: muster or kueue",
    ),
    Case(
        "a cohort and a cluster queue of one name",
        with_kai("muster:queues", "cohorts", 1, {"name": "team-a"}),
        "muster:queues.clusterQueues[0].name",
        '"team-a"',
        "a queue name (cohorts and cluster queues are all Queues to KAI) of its own",
        "team-a is taken already; choose another name",
    ),
    Case(
        "the name of the parent of lone queues",
        with_kai("muster:queues", "cohorts", 1, {"name": "muster-no-cohort"}),
        "muster:queues.cohorts[1].name",
        '"muster-no-cohort"',
        "a queue name (cohorts and cluster queues are all Queues to KAI) of its own",
        "muster-no-cohort is taken already; choose another name",
    ),
    Case(
        "an admission check",
        with_check(),
        "muster:queues.clusterQueues[0].checks.budget",
        "[]",
        "no checks: KAI asks nobody before it starts a gang",
        "remove it, or choose engine: muster (or kueue)",
    ),
    Case(
        "a queue on hold",
        with_kai(*TEAM_A, "stop", "Hold"),
        "muster:queues.clusterQueues[0].stop",
        '"Hold"',
        "None: KAI has no queues that hold",
        "remove it and set the quotas to 0, or choose engine: muster (or kueue)",
    ),
    Case(
        "a resource that KAI has no quota of",
        with_kai(*TEAM_A, "quotas", "cpu", {"cpu": 8, "ephemeral-storage": "10Gi"}),
        "muster:queues.clusterQueues[0].quotas.cpu.ephemeral-storage",
        '"10Gi"',
        "a resource that KAI counts: cpu, memory, nvidia.com/gpu",
        "remove it, or choose engine: muster (or kueue)",
    ),
    Case(
        "a priority that no PriorityClass may have",
        with_kai("muster:admission", "priorities", {"urgent": 2 * 10**9}),
        "muster:admission.priorities.urgent",
        "2000000000",
        "at most 1000000000, as for every PriorityClass (Kubernetes)",
        "lower it",
    ),
    Case(
        "a priority whose name is too long for a label",
        with_kai("muster:admission", "priorities", {LONG: 1}),
        f"muster:admission.priorities.{LONG}",
        "1",
        "a name of at most 56 letters with engine kai",
        "choose a shorter one",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_kai_can_not_do(case: Case) -> None:
    assert refusal(case.config) == case.message


@pytest.mark.parametrize("case", [c for c in CASES if c.name != "an admission check"], ids=str)
def test_other_engines_can(case: Case) -> None:
    admission = {**case.config["muster:admission"], "engine": "muster"}
    parse({**case.config, "muster:admission": admission}, FILE)


LENDS = {"cpu": 8, "memory": {"nominal": "32Gi", "lendingLimit": "16Gi"}}
TWO_KINDS = {**QUEUE["quotas"], "more": {"nvidia.com/gpu": 4}}
L4_MORE = {**GOOD["muster:pools"][1], "name": "more", "provisioning": "spot"}

# A stack -> where it is told, what stands there, and why.
DOUBTS: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "a lending limit": (
        with_kai(*TEAM_A, "quotas", "cpu", LENDS),
        "muster:queues.clusterQueues[0].quotas.cpu.memory.lendingLimit",
        '"16Gi"',
        "KAI lends out all that a queue leaves idle, and takes it back when the queue asks",
    ),
    "no preemption within": (
        with_kai(*TEAM_A, "preemption", {"reclaimWithinCohort": "Any"}),
        "muster:queues.clusterQueues[0].preemption",
        '{"reclaimWithinCohort": "Any"}',
        "withinClusterQueue is LowerPriority to KAI: a gang preempts those of lower priority in its queue, "
        "always and no others (the label kai.scheduler/preemptibility spares a gang)",
    ),
    "no reclaim": (
        with_kai(*TEAM_A, "preemption", {"withinClusterQueue": "LowerPriority"}),
        "muster:queues.clusterQueues[0].preemption",
        '{"withinClusterQueue": "LowerPriority"}',
        "reclaimWithinCohort is Any to KAI: a queue takes its quota back from whoever borrowed it",
    ),
    "strict order": (
        with_kai(*TEAM_A, "strategy", "StrictFIFO"),
        "muster:queues.clusterQueues[0].strategy",
        '"StrictFIFO"',
        "KAI lets a smaller gang go ahead of one that does not fit yet",
    ),
    "a choice of flavors": (
        with_kai(*TEAM_A, "flavorFungibility", {"whenCanBorrow": "TryNextFlavor"}),
        "muster:queues.clusterQueues[0].flavorFungibility",
        '{"whenCanBorrow": "TryNextFlavor"}',
        "KAI has no flavors to choose from: pods go where they fit",
    ),
    "a choice of namespaces": (
        with_kai(*TEAM_A, "namespaces", {"team": "a"}),
        "muster:queues.clusterQueues[0].namespaces",
        '{"team": "a"}',
        "KAI takes pods of any namespace; the stack's own go by the queues of its tenants",
    ),
    "a taint that GKE does not put up": (
        with_kai(*L4, "provisioning", "spot"),
        "muster:pools[1].provisioning",
        '"spot"',
        "KAI adds no tolerations: pods that may run there have to tolerate cloud.google.com/gke-spot by "
        "themselves",
    ),
}


def told_of_kai(config: dict[str, Any]) -> list[str]:
    return [text for text in warnings(parse(config, FILE)) if text.endswith(SOURCE)]


@pytest.mark.parametrize("name", DOUBTS)
def test_what_kai_does_in_its_own_way(name: str) -> None:
    config, path, given, why = DOUBTS[name]
    assert told_of_kai(config) == [f"{path}\n  given:  {given}\n  why:    {why}\n  source: {SOURCE}"]


def test_gpus_of_two_kinds_are_one_quota() -> None:
    config = with_kai("muster:pools", 2, {**L4_MORE, "provisioning": "on-demand"})
    config["muster:queues"]["clusterQueues"][0]["quotas"] = TWO_KINDS
    (told,) = told_of_kai(config)
    assert told.startswith("muster:queues.clusterQueues[0].quotas\n")
    assert "the quotas of l4, more together are what the queue has of any of them" in told


def test_a_stack_that_asks_for_no_more_than_kai_does_is_told_nothing() -> None:
    assert told_of_kai(with_engine("kai")) == []


@pytest.mark.parametrize("name", DOUBTS)
def test_other_engines_are_told_nothing(name: str) -> None:
    config = DOUBTS[name][0]
    assert told_of_kai({**config, "muster:admission": {"engine": "muster"}}) == []
