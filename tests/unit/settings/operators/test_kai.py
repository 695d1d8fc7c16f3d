"""Engine `kai`: unsupported settings are refused, differences are warnings."""

from typing import Any

import pytest

from settings.load import parse, warnings
from tests.unit.settings.builders import EXISTING, FILE, GOOD, L4, TEAM_A, Case, put, refusal, with_engine

SOURCE = "KAI-scheduler v0.12.0, docs/queues and docs/priority"
QUEUE: dict[str, Any] = GOOD["muster:queues"]["clusterQueues"][0]
LONG = "p" * 57


def with_kai(*path_and_value: Any) -> dict[str, Any]:
    """Returns a valid stack with engine kai, with one value set at a path."""
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
        "on-demand, spot, reserved or flex-start: KAI creates no ProvisioningRequests, so a queued "
        "pool would stay empty",
        "choose one of those, or engine: muster (or kueue)",
    ),
    Case(
        "a cluster without mutating policies",
        with_kai("muster:cluster", {**EXISTING, "servesMutatingPolicies": False}),
        "muster:cluster",
        '{"kind": "existing", "name": "sandbox", "servesMutatingPolicies": false}',
        "a cluster that serves MutatingAdmissionPolicy v1 (Kubernetes 1.36), which adds KAI's labels "
        "to Ray objects",
        "raise its version, or choose engine: muster (or kueue)",
    ),
    Case(
        "preemption to borrow",
        with_kai(*TEAM_A, "preemption", {"reclaimWithinCohort": "Any", "borrowWithinCohort": {}}),
        "muster:queues.clusterQueues[0].preemption.borrowWithinCohort",
        "{}",
        "no value: engine kai does not preempt for borrowed quota",
        "remove it, or choose engine: muster or kueue",
    ),
    Case(
        "a cohort and a cluster queue of one name",
        with_kai("muster:queues", "cohorts", 1, {"name": "team-a"}),
        "muster:queues.clusterQueues[0].name",
        '"team-a"',
        "a unique queue name (cohorts and cluster queues are all Queues to KAI)",
        "team-a is already in use; choose another name",
    ),
    Case(
        "the name of the parent of queues without a cohort",
        with_kai("muster:queues", "cohorts", 1, {"name": "muster-no-cohort"}),
        "muster:queues.cohorts[1].name",
        '"muster-no-cohort"',
        "a unique queue name (cohorts and cluster queues are all Queues to KAI)",
        "muster-no-cohort is already in use; choose another name",
    ),
    Case(
        "an admission check",
        with_check(),
        "muster:queues.clusterQueues[0].checks.budget",
        "[]",
        "no checks: KAI has no admission checks",
        "remove it, or choose engine: muster (or kueue)",
    ),
    Case(
        "a stopped queue",
        with_kai(*TEAM_A, "stop", "Hold"),
        "muster:queues.clusterQueues[0].stop",
        '"Hold"',
        "None: KAI cannot stop a queue",
        "remove it and set the quotas to 0, or choose engine: muster (or kueue)",
    ),
    Case(
        "a resource that KAI does not count",
        with_kai(*TEAM_A, "quotas", "cpu", {"cpu": 8, "memory": "32Gi", "ephemeral-storage": "10Gi"}),
        "muster:queues.clusterQueues[0].quotas.cpu.ephemeral-storage",
        '"10Gi"',
        "a resource that KAI counts: cpu, memory, nvidia.com/gpu",
        "remove it, or choose engine: muster (or kueue)",
    ),
    Case(
        "a priority above the limit of PriorityClasses",
        with_kai("muster:admission", "priorities", {"urgent": 2 * 10**9}),
        "muster:admission.priorities.urgent",
        "2000000000",
        "at most 1000000000, the limit of a PriorityClass (Kubernetes)",
        "lower it",
    ),
    Case(
        "a priority whose name is too long for a label",
        with_kai("muster:admission", "priorities", {LONG: 1}),
        f"muster:admission.priorities.{LONG}",
        "1",
        "a name of at most 56 characters with engine kai",
        "choose a shorter one",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_settings_that_kai_does_not_support_are_refused(case: Case) -> None:
    assert refusal(case.config) == case.message


@pytest.mark.parametrize("case", [c for c in CASES if c.name != "an admission check"], ids=str)
def test_other_engines_support_them(case: Case) -> None:
    admission = {**case.config["muster:admission"], "engine": "muster"}
    parse({**case.config, "muster:admission": admission}, FILE)


LENDS = {"cpu": 8, "memory": {"nominal": "32Gi", "lendingLimit": "16Gi"}}
TWO_KINDS = {**QUEUE["quotas"], "more": {"nvidia.com/gpu": 4}}
L4_MORE = {**GOOD["muster:pools"][1], "name": "more", "provisioning": "spot"}

# Case -> the stack, and the path, value and reason of its warning.
DOUBTS: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "a lending limit": (
        with_kai(*TEAM_A, "quotas", "cpu", LENDS),
        "muster:queues.clusterQueues[0].quotas.cpu.memory.lendingLimit",
        '"16Gi"',
        "KAI lends all of a queue's idle quota, and reclaims it when the queue needs it",
    ),
    "no preemption within": (
        with_kai(*TEAM_A, "preemption", {"reclaimWithinCohort": "Any"}),
        "muster:queues.clusterQueues[0].preemption",
        '{"reclaimWithinCohort": "Any"}',
        "KAI always behaves as with withinClusterQueue: LowerPriority (the label "
        "kai.scheduler/preemptibility exempts a gang)",
    ),
    "no reclaim": (
        with_kai(*TEAM_A, "preemption", {"withinClusterQueue": "LowerPriority"}),
        "muster:queues.clusterQueues[0].preemption",
        '{"withinClusterQueue": "LowerPriority"}',
        "KAI always behaves as with reclaimWithinCohort: Any",
    ),
    "strict order": (
        with_kai(*TEAM_A, "strategy", "StrictFIFO"),
        "muster:queues.clusterQueues[0].strategy",
        '"StrictFIFO"',
        "KAI schedules gangs that fit ahead of an earlier one that does not",
    ),
    "a choice of flavors": (
        with_kai(*TEAM_A, "flavorFungibility", {"whenCanBorrow": "TryNextFlavor"}),
        "muster:queues.clusterQueues[0].flavorFungibility",
        '{"whenCanBorrow": "TryNextFlavor"}',
        "KAI does not choose flavors: pods are placed wherever they fit",
    ),
    "a choice of namespaces": (
        with_kai(*TEAM_A, "namespaces", {"muster.dev/tenant": "true"}),
        "muster:queues.clusterQueues[0].namespaces",
        '{"muster.dev/tenant": "true"}',
        "KAI schedules pods of any namespace; only tenants' namespaces are assigned to queues",
    ),
    "a taint that GKE does not add": (
        with_kai(*L4, "provisioning", "spot"),
        "muster:pools[1].provisioning",
        '"spot"',
        "KAI adds no tolerations: pods that may run there must tolerate cloud.google.com/gke-spot themselves",
    ),
}


def kai_warnings(config: dict[str, Any]) -> list[str]:
    return [text for text in warnings(parse(config, FILE)) if text.endswith(SOURCE)]


@pytest.mark.parametrize("name", DOUBTS)
def test_user_is_warned_of_what_kai_does_differently(name: str) -> None:
    config, path, value, why = DOUBTS[name]
    assert kai_warnings(config) == [f"{path}\n  given:  {value}\n  why:    {why}\n  source: {SOURCE}"]


def test_user_is_warned_that_gpus_of_two_types_share_a_quota() -> None:
    config = with_kai("muster:pools", 2, {**L4_MORE, "provisioning": "on-demand"})
    config["muster:queues"]["clusterQueues"][0]["quotas"] = TWO_KINDS
    (warning,) = kai_warnings(config)
    assert warning.startswith("muster:queues.clusterQueues[0].quotas\n")
    assert "the sum of its quotas of l4, more on any of them" in warning


def test_stack_that_kai_supports_has_no_warnings() -> None:
    assert kai_warnings(with_engine("kai")) == []


@pytest.mark.parametrize("name", DOUBTS)
def test_other_engines_have_no_warnings_about_kai(name: str) -> None:
    config = DOUBTS[name][0]
    assert kai_warnings({**config, "muster:admission": {"engine": "muster"}}) == []
