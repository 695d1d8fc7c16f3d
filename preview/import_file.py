"""The import file of an existing cluster: `pulumi import` adds it, its network and its pools to a stack.

`pulumi preview --import-file` writes one with all resources of the program and its components, but without
ids. Only resources with a known id are kept: the others can be created in addition to an existing cluster.
"""

import argparse
import json
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from preview.plan import ResourceChange
from preview.plugins.choice import choose_offline
from preview.preview import settings_file
from preview.pulumi_cli import PulumiCli, Stack
from tools.bootstrap import exclusive
from tools.toolchain.command import carry_out
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen, StepError

# By type, from the inputs; each is in the SDK's documentation of the type, under Import.
IDS: Mapping[str, str] = {
    "gcp:container/cluster:Cluster": "projects/{project}/locations/{location}/clusters/{name}",
    "gcp:container/nodePool:NodePool": "{project}/{location}/{cluster}/{name}",
    "gcp:compute/network:Network": "projects/{project}/global/networks/{name}",
    "gcp:compute/subnetwork:Subnetwork": "projects/{project}/regions/{region}/subnetworks/{name}",
    "gcp:compute/router:Router": "projects/{project}/regions/{region}/routers/{name}",
    "gcp:compute/routerNat:RouterNat": "projects/{project}/regions/{region}/routers/{router}/{name}",
}

Resource = Mapping[str, Any]


def import_file(stack: Stack, without: Collection[str] = ()) -> dict[str, Any]:
    """Returns the import file of the stack, except for these resources, which do not exist yet.

    Raises StepError for a name that the stack does not declare.
    """
    skeleton = stack.cli.folder / "import.json"
    changes = stack.preview(import_file=skeleton).changes
    return existing(json.loads(skeleton.read_text()), changes, without)


def existing(
    written: Resource, changes: Sequence[ResourceChange], without: Collection[str]
) -> dict[str, Any]:
    """Returns the import file that a preview has written, with the ids of existing resources."""
    inputs = {(change.type, change.name): change for change in changes}
    existing_resources = {
        entry["name"]: _existing(entry, inputs[entry["type"], _logical(entry)])
        for entry in written["resources"]
        if entry["type"] in IDS
    }
    names = {_logical(entry) for entry in existing_resources.values()}
    if unknown := sorted(set(without) - names):
        raise StepError(
            f"the stack has no {', '.join(unknown)} to import",
            try_this=f"one or more of {', '.join(sorted(names))}",
        )
    importable = {name: entry for name, entry in existing_resources.items() if _logical(entry) not in without}
    return {**written, "resources": _with_parents(written["resources"], importable)}


def _logical(entry: Resource) -> str:
    """Returns the name in the program: names in an import file are unique over all types."""
    return str(entry.get("logicalName", entry["name"]))


def _existing(entry: Resource, change: ResourceChange) -> Resource:
    """Returns an entry with its id, and without its provider: the engine would create that before the
    component in which it is, and fail. With the default provider, the next `up` only notes the other one."""
    without_provider = {key: value for key, value in entry.items() if key != "provider"}
    return {**without_provider, "id": IDS[change.type].format_map(change.after)}


def _with_parents(entries: Sequence[Resource], importable: Mapping[str, Resource]) -> list[Resource]:
    """Returns the kept entries, and the components above them, in the file's order."""
    by_name = {entry["name"]: entry for entry in entries}
    needed: set[str] = set()

    for name in importable:
        while name in by_name:
            needed.add(name)
            name = by_name[name].get("parent", "")
    return [importable.get(entry["name"], entry) for entry in entries if entry["name"] in needed]


def show(stack: str, without: Collection[str]) -> int:
    """Prints the import file of a stack."""
    pulumi = ensure_tools(["pulumi"], Screen(out=sys.stderr))["pulumi"].path
    with exclusive(RunState("preview").root / "lock", "a preview in this checkout"):
        cli = PulumiCli(pulumi, RunState("preview").root, choices=choose_offline())
        cli.preload()
        print(json.dumps(import_file(cli.select(stack, settings_file(stack)), without), indent=2))
    return 0


def main(arguments: list[str]) -> int:
    """Prints the import file; returns the exit code."""
    parser = argparse.ArgumentParser(prog="make adopt", description=__doc__)
    parser.add_argument("stack", help="a stack in stacks/, for example dev")
    parser.add_argument(
        "--without", nargs="*", default=[], metavar="NAME", help="resources to create instead"
    )
    options = parser.parse_args(arguments)
    return carry_out("adopt", lambda: show(options.stack, options.without))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
