"""A platform that several stacks deploy, compared with the same platform in one stack."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.tenants.deployer import RULES
from preview.joined import assume_joined
from preview.pulumi_cli import Outcome
from preview.split_state import planned, split_state
from settings.model.split import PARTS, Part
from tests.stacks.split_checkouts import Checkout, Config, changed, write_stacks
from tools.toolchain.paths import CHECKOUT

PROD = CHECKOUT / "stacks" / "Pulumi.prod.yaml"
THREE: dict[Part, str] = {part: f"prod-{part}" for part in PARTS}


@pytest.fixture(scope="module")
def config() -> Config:
    loaded: Config = yaml.safe_load(PROD.read_text())["config"]
    return loaded


@pytest.fixture(scope="module")
def checkout(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory, config: Config) -> Checkout:
    folder = Checkout(tmp_path_factory.mktemp("split"), tools["pulumi"])
    folder.file("prod").write_text(PROD.read_text())
    write_stacks(folder.stacks, config, THREE)
    return folder


@pytest.fixture(scope="module")
def unsplit(checkout: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """The plan of stack prod, whose state is then as if it was deployed."""
    return checkout.assume("prod", tmp_path_factory.mktemp("plan") / "prod.json")


@pytest.fixture(scope="module")
def parts(checkout: Checkout, tmp_path_factory: pytest.TempPathFactory) -> dict[Part, Outcome]:
    """The plans of the three parts, whose states are then as if they were deployed."""
    folder = tmp_path_factory.mktemp("plans")
    return {part: checkout.assume(stack, folder / f"{part}.json") for part, stack in THREE.items()}


def resources(outcome: Outcome) -> dict[str, Any]:
    """The inputs of resources by type and name, without providers and what belongs to Pulumi alone."""
    return {f"{c.type} {c.name}": c.after for c in outcome.changes if not c.type.startswith("pulumi:")}


@pytest.mark.thorough
def test_all_parts_together_declare_what_one_stack_declares(
    unsplit: Outcome, parts: Mapping[Part, Outcome]
) -> None:
    together: dict[str, Any] = {}
    for outcome in parts.values():
        together |= resources(outcome)
    assert together == resources(unsplit)


def test_no_resource_is_in_two_parts(parts: Mapping[Part, Outcome]) -> None:
    declared = [
        change.urn.split("::", 1)[1]
        for outcome in parts.values()
        for change in outcome.changes
        if change.op == "create" and not change.type.startswith(("pulumi:", "muster:"))
    ]
    twice = {urn.rpartition("::")[2] for urn in declared if declared.count(urn) > 1}
    assert twice == {"storage"}  # an API that the buckets of two parts need


def test_the_tenants_part_has_no_resource_of_gke(parts: Mapping[Part, Outcome]) -> None:
    kinds = {change.type for change in parts["tenants"].changes}
    assert not [kind for kind in kinds if "gcp:container" in kind or "gcp:compute/network" in kind]
    assert not [
        kind for kind in kinds if "MutatingAdmissionPolicy" in kind or kind.endswith("apps/v1:Deployment")
    ]


def test_the_deployer_of_the_tenants_may_write_all_kinds_of_its_part(parts: Mapping[Part, Outcome]) -> None:
    written = {
        (group, name) for rule in rights("create") for group in rule.api_groups for name in rule.resources
    }
    needed = set()
    for change in parts["tenants"].changes:
        if change.type.startswith("kubernetes:"):
            _, api, kind = change.type.split(":")
            group = api.rpartition("/")[0] if "." in api or "/" in api else ""
            needed.add(("" if group == "core" else group, plural(kind)))
    assert ("rbac.authorization.k8s.io", "roles") in needed
    assert needed - written == set()


def test_the_deployer_of_the_tenants_may_not_extend_its_rights() -> None:
    verbs = {verb for rule in [*rights(), *rights("create")] for verb in rule.verbs}
    resources = {resource for rule in rights("create") for resource in rule.resources}
    assert not verbs & {"*", "bind", "escalate", "impersonate"}
    assert not resources & {"*", "pods", "pods/exec", "nodes", "secrets", "deployments", "daemonsets"}
    assert not {resource for resource in resources if resource.startswith("mutating")}


def rights(verb: str = "get") -> list[Any]:
    """Returns the rules with a verb; their fields are lists, although the SDK's types also allow Outputs."""
    rules: list[Any] = list(RULES)
    return [rule for rule in rules if verb in rule.verbs]


def plural(kind: str) -> str:
    """Returns the resource of a kind."""
    word = kind.lower()
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith("s") else f"{word}s"


def test_a_further_tenant_changes_only_its_part(
    checkout: Checkout, config: Config, parts: Mapping[Part, Outcome], tmp_path: Path
) -> None:
    more = config | {
        "muster:tenants": [
            *config["muster:tenants"],
            {"namespace": "search", "queues": {"user-queue": "inference"}, "priorities": ["exploration"]},
        ]
    }
    write_stacks(checkout.stacks, more, THREE)
    try:
        outcomes = {part: checkout.select(stack).preview() for part, stack in THREE.items()}
    finally:
        write_stacks(checkout.stacks, config, THREE)
    assert {part for part, outcome in outcomes.items() if changed(outcome)} == {"tenants"}
    assert "search" in {change.name for change in changed(outcomes["tenants"])}
    assert not [w for outcome in outcomes.values() for w in outcome.warnings if "deploy it first" in w]


def test_a_change_of_the_foundation_is_deployed_before_the_parts_that_use_it(
    checkout: Checkout, config: Config, parts: Mapping[Part, Outcome]
) -> None:
    system, *others = config["muster:pools"]
    pools = [system | {"nodes": {"min": 3, "max": 19}}, *others]
    write_stacks(checkout.stacks, config | {"muster:pools": pools}, THREE)
    try:
        outcome = checkout.select(THREE["tenants"]).preview()
    finally:
        write_stacks(checkout.stacks, config, THREE)
    assert [w for w in outcome.warnings if "stack prod-foundation was deployed with other settings" in w]


@pytest.mark.thorough
def test_a_state_is_split_without_a_change(checkout: Checkout, unsplit: Outcome, config: Config) -> None:
    two: dict[Part, str] = {"foundation": "prod", "cluster": "prod", "tenants": "teams"}
    state = checkout.select("prod").exported()
    write_stacks(checkout.stacks, config, two)
    empty = checkout.cli_of("empty")
    assume_joined(empty, checkout.file("teams"))
    plans = {name: planned(empty, name, checkout.file(name)) for name in ("prod", "teams")}
    for stack, part in split_state(state, plans).items():
        file = checkout.stacks.parent / f"{stack}.json"
        file.write_text(json.dumps(part))
        log = checkout.cli.logs / "import.log"
        checkout.cli.run(
            ["stack", "import", "--stack", checkout.select(stack).name, "--file", str(file)], log
        )
    for stack in ("prod", "teams"):
        changes = changed(checkout.select(stack).preview())
        # The kubeconfig comes from the other stack; the cluster's ID is the same.
        assert {(c.op, c.type) for c in changes} <= {("update", "pulumi:providers:kubernetes")}
