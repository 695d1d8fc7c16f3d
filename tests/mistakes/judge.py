"""The fate of a mutant: refused, previewed under the policies, or harmless; anything else is a fault."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pulumi

from components import platform
from components.admission.policies import AdmissionPoliciesArgs
from policies.environment import enforced
from policies.rule import Resource, ResourceRule, StackRule
from policies.rules import RULES
from settings.load import Settings, SettingsError, load
from tests.mistakes.harmless import reason
from tests.mistakes.mutants import KEY_TYPO, Mutant, Place, stack_file
from tests.unit.components.harness import Declarations, NoPolicies, declare

# Keys of these mappings are names that users choose: a misspelt one is another name.
NAMES = {"labels", "priorities", "quotas", "queues", "hosts", "resourceQuota", "limits", "authorizedNetworks"}


class Fate(StrEnum):
    REFUSED = "refused"
    VIOLATES = "refused by policies"
    PREVIEWED = "previewed"
    HARMLESS = "harmless"


class Fault(AssertionError):
    """A mutant that is accepted silently, or that is refused without help."""


def fate(mutant: Mutant, folder: Path) -> Fate:
    """Loads the mutant's file, and declares its resources if it is accepted. Raises Fault, or any error of a
    program that crashes."""
    file = folder / f"Pulumi.{mutant.stack}.yaml"
    file.write_text(mutant.text, encoding="utf-8")
    try:
        settings = load(file)
    except SettingsError as error:
        _check_help(error)
        return Fate.REFUSED
    if mutant.mistake.startswith(KEY_TYPO) and not NAMES.intersection(mutant.place[:-1]):
        raise Fault("a misspelt key is accepted")
    before = load(stack_file(mutant.stack))
    if settings == before:
        return Fate.HARMLESS  # the default, or the same value in other words
    plan = _plan(settings)
    if list(violations(plan.declared, settings.environment)):
        return Fate.VIOLATES
    if plan == _shipped_plan(mutant.stack):
        if reason(mutant.stack, list(_differences(_dumped(before), _dumped(settings)))) is None:
            raise Fault("it is accepted, and changes nothing in the plan")
        return Fate.HARMLESS
    return Fate.PREVIEWED


def _check_help(error: SettingsError) -> None:
    """Requires of each problem what users need: path, expectation and remedy."""
    for problem in error.problems:
        if not (problem.expected and problem.remedy) or problem.remedy == "fix it":
            raise Fault(f"refused without help: {problem}")


def violations(plan: Declarations, environment: str) -> Iterator[str]:
    """Yields the violations of the environment's mandatory policies."""
    levels = enforced({"muster:environment": environment}, [rule.id for rule in RULES])
    resources = [Resource(each.type, each.name, each.inputs, each.protect) for each in plan.values()]
    for rule in RULES:
        config = levels[rule.id]
        judged = [each for each in resources if each.name not in config.get("exempt", {})]
        if config["enforcementLevel"] == "mandatory":
            yield from (f"{rule.id}: {message}" for message in _messages(rule, judged, config))


def _messages(
    rule: ResourceRule | StackRule, resources: Sequence[Resource], config: Mapping[str, Any]
) -> Iterator[str]:
    if isinstance(rule, StackRule):
        yield from (f"{each.resource.name}: {each.message}" for each in rule.violations(resources, config))
        return
    for resource in resources:
        if rule.reads(resource.kind):
            yield from (f"{resource.name}: {message}" for message in rule.messages(resource, config))


class Plan(NamedTuple):
    """The program's declarations; for admission policies their inputs, as declaring them takes twice as long
    as everything else."""

    declared: Declarations
    policies: AdmissionPoliciesArgs


def _plan(settings: Settings) -> Plan:
    made_from: list[AdmissionPoliciesArgs] = []

    class Recorded(NoPolicies):
        def __init__(self, name: str, args: AdmissionPoliciesArgs, opts: pulumi.ResourceOptions) -> None:
            made_from.append(args)
            super().__init__(name, args, opts)

    with mock.patch.object(platform, "AdmissionPolicies", Recorded):
        declared = declare(lambda: platform.Platform("muster", platform.PlatformArgs(settings)))
    return Plan(declared, made_from[0])


@cache
def _shipped_plan(stack: str) -> Plan:
    return _plan(load(stack_file(stack)))


def _dumped(settings: Settings) -> Any:
    return settings.model_dump(mode="json", by_alias=True)


def _differences(value: Any, other: Any, above: Place = ()) -> Iterator[str]:
    """Yields the places where two settings differ, without indexes."""
    if isinstance(value, dict) and isinstance(other, dict):
        for key in {**value, **other}:
            yield from _differences(value.get(key), other.get(key), (*above, key))
    elif isinstance(value, list) and isinstance(other, list) and len(value) == len(other):
        if sorted(map(repr, value)) == sorted(map(repr, other)) and value != other:
            yield f"{'.'.join(map(str, above))} (order)"
            return
        for item, right in zip(value, other, strict=True):
            yield from _differences(item, right, above)
    elif value != other:
        yield ".".join(map(str, above))
