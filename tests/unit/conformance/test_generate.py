"""Generated scenarios: deterministic, consistent, and of all kinds."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.differential.generate import STEPS_MAX, STEPS_MIN, scenario
from tests.conformance.differential.scenario import (
    CLASSICAL,
    FAIR,
    Change,
    Manifest,
    Scenario,
    Submit,
    identity,
)

SEEDS = range(300)
NAMING = {
    "cohortName": "Cohort",
    "parentName": "Cohort",
    "clusterQueue": "ClusterQueue",
    "queueName": "LocalQueue",
}


@pytest.fixture(scope="module")
def scenarios() -> list[Scenario]:
    return [scenario(seed) for seed in SEEDS]


def test_the_same_seed_gives_the_same_scenario(scenarios: list[Scenario]) -> None:
    assert [scenario(seed) for seed in SEEDS] == scenarios


def test_another_seed_gives_another_scenario(scenarios: list[Scenario]) -> None:
    assert len({repr(scenario.objects) + repr(scenario.steps) for scenario in scenarios}) == len(scenarios)


def test_modes_alternate(scenarios: list[Scenario]) -> None:
    assert [scenario.mode for scenario in scenarios[:4]] == [CLASSICAL, FAIR, CLASSICAL, FAIR]


def test_scenarios_are_small(scenarios: list[Scenario]) -> None:
    assert all(STEPS_MIN <= len(scenario.steps) <= STEPS_MAX for scenario in scenarios)


def manifests(of: Scenario) -> Iterator[Manifest]:
    yield from of.objects
    for step in of.steps:
        if isinstance(step, Submit):
            yield step.workload
        elif isinstance(step, Change):
            yield step.object


def fields(value: Any) -> Iterator[tuple[str, Any]]:
    """Yields every field at every depth."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key, item
            yield from fields(item)
    elif isinstance(value, list):
        for item in value:
            yield from fields(item)


def test_every_referenced_name_exists(scenarios: list[Scenario]) -> None:
    for each_scenario in scenarios:
        identities = {identity(obj) for obj in each_scenario.objects}
        for obj in manifests(each_scenario):
            for key, value in fields(obj["spec"]):
                assert key not in NAMING or (NAMING[key], value) in identities
                for flavor in value if key == "flavors" else ():
                    assert ("ResourceFlavor", flavor["name"]) in identities


def test_changes_are_of_existing_objects(scenarios: list[Scenario]) -> None:
    for each_scenario in scenarios:
        changed = {identity(step.object) for step in each_scenario.steps if isinstance(step, Change)}
        assert changed <= {identity(obj) for obj in each_scenario.objects}


def test_changes_keep_the_cohort(scenarios: list[Scenario]) -> None:
    for each_scenario in scenarios:
        before = {identity(obj): obj["spec"] for obj in each_scenario.objects}
        for step in each_scenario.steps:
            if isinstance(step, Change):
                old, new = before[identity(step.object)], step.object["spec"]
                for key in ("cohortName", "parentName", "queueingStrategy"):
                    assert old.get(key) == new.get(key)


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("queueingStrategy", {"BestEffortFIFO", "StrictFIFO"}),
        ("withinClusterQueue", {"Never", "LowerPriority", "LowerOrNewerEqualPriority"}),
        ("reclaimWithinCohort", {"Never", "LowerPriority", "Any"}),
        ("policy", {"LowerPriority"}),
        ("maxPriorityThreshold", {0, 100, 200}),
        ("whenCanBorrow", {"MayStopSearch", "TryNextFlavor"}),
        ("whenCanPreempt", {"MayStopSearch", "TryNextFlavor"}),
        ("preference", {"BorrowingOverPreemption", "PreemptionOverBorrowing"}),
        ("weight", {"0", "500m", "1", "2"}),
        ("stopPolicy", {"Hold", "None"}),
        ("priority", {0, 100, 200}),
        ("minCount", {1, 2}),
        ("borrowingLimit", {"0", "1", "2", "3", "4"}),
        ("lendingLimit", {"0", "1", "2", "3", "4", "5", "6"}),
    ],
)
def test_all_kinds_of_settings_are_generated(scenarios: list[Scenario], key: str, values: set[Any]) -> None:
    observed = {
        value
        for scenario in scenarios
        for obj in manifests(scenario)
        for k, value in fields(obj["spec"])
        if k == key
    }
    assert observed == values


def test_all_sizes_are_generated(scenarios: list[Scenario]) -> None:
    kinds = [Counter(obj["kind"] for obj in scenario.objects) for scenario in scenarios]
    assert {of["Cohort"] for of in kinds} == {0, 1, 2, 3, 4}
    assert {of["ClusterQueue"] for of in kinds} == {1, 2, 3, 4}
    assert {of["ResourceFlavor"] for of in kinds} == {1, 2, 3}


def test_all_kinds_of_steps_are_generated(scenarios: list[Scenario]) -> None:
    observed = Counter(type(step).__name__ for scenario in scenarios for step in scenario.steps)
    assert [name for name, _ in observed.most_common()] == ["Submit", "Finish", "Change", "Withdraw"]
