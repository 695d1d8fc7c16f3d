"""The cluster of a platform's foundation, in the stacks that deploy its other parts."""

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from components.base import Component
from components.foundation.apis import ProjectArgs, enter_project
from components.foundation.cluster import FORCE_PATCH
from components.foundation.control_plane import at_address, required_address
from components.foundation.existing import named_api_servers
from components.foundation.google_cloud import GoogleCloud
from settings.model.foundation.existing import Existing
from settings.model.split import PARTS, READ_BY, Part, Split
from settings.model.stack import Settings
from settings.split import fingerprint

OUTPUT = "settings"
"""The output of a part with the fingerprints of the settings with which it was deployed."""


@dataclass(frozen=True)
class JoinedClusterArgs:
    """`parts`: the parts that the stack deploys; the others are read from the stacks of `split`."""

    settings: Settings
    split: Split
    parts: frozenset[Part]


class JoinedCluster(Component):
    """The cluster that another stack declares, by that stack's outputs.

    Nothing is deployed into it if a part that this stack needs was deployed with other settings.

    The component has the type and the name that the cluster has in a stack that is not split: the URNs of
    resources below it are the same, so they can be moved (preview/split_state.py).

    name: the cluster's. google, kubernetes, api_servers: as of Foundation. nodes_account: None, it is the
    other stack's.
    """

    nodes_account: pulumi.Output[str] | None = None

    def __init__(
        self, name: str, args: JoinedClusterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        cluster = args.settings.cluster
        existing = isinstance(cluster, Existing)
        super().__init__("ExistingCluster" if existing else "Foundation", name, opts)
        needed = [part for part in PARTS if part in READ_BY and part not in args.parts]
        stacks = dict.fromkeys(args.split.stack_of(part) for part in needed)
        references = {stack: self._reference(stack) for stack in stacks}
        checked = pulumi.Output.all(
            *(references[args.split.stack_of(part)].get_output(OUTPUT) for part in needed)
        ).apply(lambda outputs: _check(dict(zip(needed, outputs, strict=True)), args))
        self.name = pulumi.Output.from_input(cluster.name)
        self.kubernetes = (
            self._of_context(cluster, checked)
            if isinstance(cluster, Existing)
            else (self._of_outputs(references[args.split.foundation], checked))
        )
        self.api_servers = (
            named_api_servers(cluster)
            if isinstance(cluster, Existing)
            else at_address(_address(references[args.split.foundation], args.split.foundation))
        )
        self.google: GoogleCloud | None = None
        if args.settings.place:
            self.google = enter_project(self, ProjectArgs(args.settings, args.settings.place, args.parts))
        self.register_outputs({"name": self.name})

    def _reference(self, stack: str) -> pulumi.StackReference:
        """Returns the reference to a stack of this project."""
        path = f"{pulumi.get_organization()}/{pulumi.get_project()}/{stack}"
        return pulumi.StackReference(path, opts=pulumi.ResourceOptions(parent=self))

    def _of_context(self, cluster: Existing, checked: pulumi.Output[Any]) -> kubernetes.Provider:
        return kubernetes.Provider(
            self.named("kubernetes"),
            context=checked.apply(lambda _: cluster.context),
            enable_patch_force=FORCE_PATCH,
            opts=self.child(),
        )

    def _of_outputs(
        self, foundation: pulumi.StackReference, checked: pulumi.Output[Any]
    ) -> kubernetes.Provider:
        kubeconfig = pulumi.Output.all(foundation.require_output("kubeconfig"), checked)
        return kubernetes.Provider(
            self.named("kubernetes"),
            kubeconfig=kubeconfig.apply(lambda both: both[0]),
            cluster_identifier=foundation.require_output("clusterId"),
            enable_patch_force=FORCE_PATCH,
            opts=self.child(),
        )


def _address(foundation: pulumi.StackReference, stack: str) -> pulumi.Output[str]:
    """Returns the address at which pods reach the control plane. Raises: as `required_address`, if the stack
    was deployed before it had this output."""
    missing = f"stack {stack} has no output `privateAddress` yet: deploy it first"
    address = foundation.get_output("privateAddress")
    return address.apply(lambda output: required_address(output, missing))


def _check(deployed: dict[Part, Any], args: JoinedClusterArgs) -> None:
    """Raises RunError if a part was deployed with other settings; a preview only warns of it, as one change
    may concern both parts."""
    for part, fingerprints in deployed.items():
        if (fingerprints or {}).get(part) == fingerprint(args.settings, part):
            continue
        stack = args.split.stack_of(part)
        text = f"stack {stack} was deployed with other settings of its part {part}: deploy it first"
        if not pulumi.runtime.is_dry_run():
            raise pulumi.RunError(text)
        pulumi.log.warn(text)
