"""Splits the state of a stack into states of the stacks that deploy its parts.

The state is that of `pulumi stack export --show-secrets`. Which resources a stack gets is known from the
offline plans of the split stack files; a resource keeps its ID, so nothing is created again. Components and
providers go to all stacks that use them.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from muster.files.reading import read_text
from muster.files.writing import write_text
from preview.joined import all_stacks, assume_joined
from preview.preview import pretending, settings_file
from preview.pulumi_cli import PulumiCli
from tools.toolchain.command import carry_out
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import CHECKOUT, RunState
from tools.toolchain.steps import Screen, StepError

# Below the cluster's component, where the cluster is declared; below its parent in the stacks that join it.
KUBERNETES = "muster:platform:GkeCluster$pulumi:providers:kubernetes::"
Resource = dict[str, Any]
State = dict[str, Any]


def split_state(state: State, plans: Mapping[str, set[str]]) -> dict[str, State]:
    """Returns the state of each stack, by its name. `plans`: the URNs that each stack declares.

    Raises StepError for a resource that no stack declares: it would be deleted by none.
    """
    resources: list[Resource] = state["deployment"]["resources"]
    urns = {stack: _moved(resources, stack, declared) for stack, declared in plans.items()}
    lost = [
        r["urn"] for r in resources if r["custom"] and not any(r["urn"] in moved for moved in urns.values())
    ]
    if lost:
        raise StepError(
            f"no stack declares {', '.join(lost)}",
            try_this="deploy the unsplit stack file as it was, export its state again, and split that",
        )
    return {
        stack: {**state, "deployment": {**state["deployment"], "resources": _resources(resources, moved)}}
        for stack, moved in urns.items()
    }


def _moved(resources: Iterable[Resource], stack: str, declared: set[str]) -> dict[str, str]:
    """Returns the URNs of a stack's resources, by their URNs in the unsplit stack."""
    moved: dict[str, str] = {}
    for resource in resources:
        urn = _in_stack(resource["urn"], stack)
        joined = urn.replace(KUBERNETES, "pulumi:providers:kubernetes::")
        if urn in declared:
            moved[resource["urn"]] = urn
        elif joined in declared:
            moved[resource["urn"]] = joined
    return moved


def _resources(resources: Iterable[Resource], moved: Mapping[str, str]) -> list[Resource]:
    return [_rewritten(resource, moved) for resource in resources if resource["urn"] in moved]


def _rewritten(resource: Resource, moved: Mapping[str, str]) -> Resource:
    """Returns the resource without references to resources that are in other stacks."""
    urn = moved[resource["urn"]]
    own = {**resource, "urn": urn}
    if "parent" in resource:
        # The provider of a joined cluster is a child of the parent of the cluster's component.
        own["parent"] = moved.get(resource["parent"], f"{urn.rpartition('$')[0]}::foundation")
    if "provider" in resource:
        provider, _, provider_id = resource["provider"].rpartition("::")
        own["provider"] = f"{moved[provider]}::{provider_id}"
    if "deletedWith" in resource:
        own["deletedWith"] = moved[resource["deletedWith"]]
    if "dependencies" in resource:
        own["dependencies"] = _present(resource["dependencies"], moved)
    if on := resource.get("propertyDependencies"):
        own["propertyDependencies"] = {key: _present(others or (), moved) for key, others in on.items()}
    return own


def _present(urns: Iterable[str], moved: Mapping[str, str]) -> list[str]:
    return [moved[urn] for urn in urns if urn in moved]


def _in_stack(urn: str, stack: str) -> str:
    """Returns the URN that a resource has in another stack of the project."""
    _, project, kind, name = urn.split("::", 3)
    root = kind == "pulumi:pulumi:Stack"
    return f"urn:pulumi:{stack}::{project}::{kind}::{f'{project}-{stack}' if root else name}"


def _plans(stack: str) -> dict[str, set[str]]:
    """Returns the URNs that each stack of the platform declares, from offline plans."""
    settings = settings_file(stack)
    if not (stacks := all_stacks(settings)):
        raise StepError(f"{settings} has no valid muster:split", try_this=f"make preview STACK={stack}")
    last = settings.with_name(f"Pulumi.{stacks[-1]}.yaml")
    root = RunState("preview-joined").root
    shutil.rmtree(root, ignore_errors=True)
    cli = pretending(ensure_tools(["pulumi"], Screen())["pulumi"].path, root, CHECKOUT)
    assume_joined(cli, last)
    return {name: planned(cli, name, settings.with_name(f"Pulumi.{name}.yaml")) for name in stacks}


def planned(cli: PulumiCli, stack: str, settings: Path) -> set[str]:
    """Returns the URNs that a stack declares."""
    return {change.urn for change in cli.select(stack, settings).preview().changes}


def write_states(stack: str, state: Path) -> int:
    """Writes the states of all stacks of the platform next to `state`; returns the exit code."""
    for name, part in split_state(json.loads(read_text(state, "a state")), _plans(stack)).items():
        file = state.with_name(f"{name}.json")
        write_text(file, json.dumps(part, indent=2))
        print(f"{file}: {len(part['deployment']['resources'])} resources")
    return 0


def main(arguments: list[str]) -> int:
    """Splits one state; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m preview.split_state", description=__doc__)
    parser.add_argument("stack", help="any of the stacks that `muster:split` names")
    parser.add_argument("state", type=Path, help="the state of the stack that deployed it")
    options = parser.parse_args(arguments)
    return carry_out("split", lambda: write_states(options.stack, options.state))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
