"""Builds the state that a stack would have after a plan, from the plan itself.

For previews of changes without access to the real backend: the engine compares the program with this state,
which distinguishes updates and replacements from creations. Nothing is created; ids are placeholders.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from preview.resources.values import SECRET, SIGNATURE, UNKNOWN
from settings.credentials import MASKED

# By URN: `goal`, `state` and more, as `pulumi preview --save-plan` writes it.
Plan = Mapping[str, Mapping[str, Any]]

_PROVIDER = "pulumi:providers:"
_PROVIDER_ID = "00000000-0000-4000-8000-000000000000"
_KEPT = ("parent", "protect", "dependencies", "propertyDependencies", "additionalSecretOutputs")


def with_resources(deployment: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """Returns an exported, empty deployment with every resource that the plan creates added."""
    resources = [_without_reads(_resource(urn, plan[urn]), plan) for urn in _in_order(plan)]
    return {**deployment, "deployment": {**deployment["deployment"], "resources": resources}}


def _resource(urn: str, planned: Mapping[str, Any]) -> dict[str, Any]:
    goal = planned["goal"]
    inputs = _masked(goal["inputDiff"].get("adds", {}))
    # A provider that cannot be asked yet has no outputs.
    outputs = _masked(planned.get("state") or inputs)
    if not goal["custom"]:
        outputs = _pretended(outputs)  # which are not compared, but read by other stacks
    resource = {
        "urn": urn,
        "type": goal["type"],
        "custom": goal["custom"],
        "inputs": inputs,
        "outputs": outputs,
    }
    resource |= {key: goal[key] for key in _KEPT if goal.get(key)}
    if goal["custom"]:
        provider = goal["type"].startswith(_PROVIDER)
        resource["id"] = _PROVIDER_ID if provider else outputs.get("id") or f"pretended/{goal['name']}"
    if goal.get("provider"):
        resource["provider"] = f"{_provider(goal)}::{_PROVIDER_ID}"
    return resource


def _without_reads(resource: dict[str, Any], plan: Plan) -> dict[str, Any]:
    """Returns the resource without dependencies that are not in the plan: references to other stacks, which
    are read and not created."""
    on = "propertyDependencies"
    if "dependencies" in resource:
        resource["dependencies"] = [urn for urn in resource["dependencies"] if urn in plan]
    if on in resource:
        resource[on] = {key: [urn for urn in urns or () if urn in plan] for key, urns in resource[on].items()}
    return resource


def _masked(value: Any) -> Any:
    """Returns properties with a placeholder for each secret: they are encrypted for the plan only."""
    if isinstance(value, Mapping):
        if value.get(SIGNATURE) == SECRET:
            return {SIGNATURE: SECRET, "plaintext": json.dumps(MASKED)}
        return {key: _masked(item) for key, item in value.items()}
    return [_masked(item) for item in value] if isinstance(value, list) else value


def _pretended(value: Any) -> Any:
    """Returns outputs with a placeholder for each unknown value, which would make all of them unknown."""
    if isinstance(value, Mapping):
        return {key: _pretended(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_pretended(item) for item in value]
    return "pretended" if value == UNKNOWN else value


def _provider(goal: Mapping[str, Any]) -> str:
    """Returns the URN of a reference `<urn>::<id>`."""
    return str(goal.get("provider", "")).rpartition("::")[0]


def _in_order(plan: Plan) -> Iterator[str]:
    """Yields each resource after its dependencies, as a state requires."""
    done: set[str] = set()

    def visit(urn: str) -> Iterator[str]:
        if urn in done or urn not in plan:
            return
        done.add(urn)
        goal = plan[urn]["goal"]
        for needed in (goal.get("parent", ""), _provider(goal), *goal.get("dependencies", ())):
            yield from visit(needed)
        yield urn

    for urn in plan:
        yield from visit(urn)
