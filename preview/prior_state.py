"""Builds the state that a stack would have after a plan, from the plan itself.

For previews of changes without access to the real backend: the engine compares the program with this state,
which distinguishes updates and replacements from creations. Nothing is created; ids are placeholders.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from preview.resources.values import SECRET, SIGNATURE

# By URN: `goal`, `state` and more, as `pulumi preview --save-plan` writes it.
Plan = Mapping[str, Mapping[str, Any]]

_PROVIDER = "pulumi:providers:"
_PROVIDER_ID = "00000000-0000-4000-8000-000000000000"
_KEPT = ("parent", "protect", "dependencies", "propertyDependencies", "additionalSecretOutputs")


def with_resources(deployment: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """Returns an exported, empty deployment with every resource that the plan creates added."""
    resources = [_resource(urn, plan[urn]) for urn in _in_order(plan)]
    return {**deployment, "deployment": {**deployment["deployment"], "resources": resources}}


def _resource(urn: str, planned: Mapping[str, Any]) -> dict[str, Any]:
    goal = planned["goal"]
    inputs = goal["inputDiff"].get("adds", {})
    # A provider that cannot be asked yet has no outputs.
    outputs = planned.get("state") or inputs
    if not goal["custom"]:
        # Secrets are encrypted for the plan only, and the outputs of components are not compared.
        outputs = {name: value for name, value in outputs.items() if not _is_secret(value)}
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


def _is_secret(value: object) -> bool:
    return isinstance(value, Mapping) and value.get(SIGNATURE) == SECRET


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
