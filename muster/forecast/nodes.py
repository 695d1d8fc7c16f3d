"""Nodes on which a simulation places gangs of flavors with a topology: listed in manifests, or assumed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from muster import admission as core
from muster.forecast.configuration import QueueConfiguration


@dataclass(frozen=True, slots=True)
class AssumedNodes:
    """Equal nodes of a flavor, of which only the number and the machine type are declared.

    `domain_sizes` are nodes per domain, by level; the nodes are in one domain of each other level, except the
    hostname. `request` applies to jobs whose trace records no topology request."""

    flavor: str
    count: int
    allocatable: Mapping[str, int]  # of one node, in the core's units
    domain_sizes: Mapping[str, int]
    request: core.TopologyRequest | None = None
    group: str = ""  # part of the names of nodes and domains, such as a node pool; empty: the flavor

    def nodes(self, flavor: core.Flavor, levels: Sequence[str]) -> Iterable[core.Node]:
        """Yields the nodes, numbered consecutively within each domain."""
        group = self.group or self.flavor
        for index in range(self.count):
            name = f"{group}-{index}"
            domains = {
                level: name
                if level == core.HOSTNAME
                else f"{group}-{index // self.domain_sizes.get(level, self.count)}"
                for level in levels
            }
            labels = {**flavor.node_labels, core.HOSTNAME: name, **domains}
            yield core.Node(name, labels, allocatable=self.allocatable)

    def described(self, levels: Sequence[str]) -> str:
        """Returns the assumption as a sentence."""
        sizes = (
            f", {self.domain_sizes.get(level, self.count):,} in each {level}"
            for level in levels
            if level != core.HOSTNAME
        )
        return f"flavor {self.flavor}: gangs are placed on {self.count:,} assumed nodes{''.join(sizes)}"


def with_assumed_nodes(
    configuration: QueueConfiguration, assumed: Sequence[AssumedNodes]
) -> QueueConfiguration:
    """Returns the configuration with these nodes; flavors without a topology need none."""
    flavors, topologies = configuration.snapshot.flavors, configuration.topologies
    used = [of for of in assumed if of.flavor in topologies]
    nodes = [node for of in used for node in of.nodes(flavors[of.flavor], topologies[of.flavor].levels)]
    placing = with_nodes(configuration, nodes)
    return replace(
        placing,
        topology_requests={of.flavor: of.request for of in used if of.request is not None},
        assumed_nodes=tuple(of.described(topologies[of.flavor].levels) for of in used),
    )


def with_nodes(configuration: QueueConfiguration, nodes: Iterable[core.Node]) -> QueueConfiguration:
    """Returns the configuration that places gangs on these nodes instead of its own.

    A trace has no tolerations, so taints of nodes are dropped. Nodes that are not ready now are assumed to be
    ready. If a flavor with a topology has no node, all topologies are ignored: otherwise, the gangs of its
    queues could use the other flavors only."""
    declared = configuration.topologies
    untainted = {node.name: replace(node, taints=(), used={}, ready=True) for node in nodes}
    lacking = flavors_without_nodes(configuration, untainted.values())
    is_placed = bool(declared) and not lacking
    flavors = {
        name: replace(flavor, topology=declared[name].name if is_placed and name in declared else None)
        for name, flavor in configuration.snapshot.flavors.items()
    }
    snapshot = replace(
        configuration.snapshot,
        flavors=flavors,
        topologies={topology.name: topology for topology in declared.values()} if is_placed else {},
        nodes=untainted if is_placed else {},
    )
    return replace(
        configuration, snapshot=snapshot, without_nodes=lacking, assumed_nodes=(), topology_requests={}
    )


def flavors_without_nodes(configuration: QueueConfiguration, nodes: Iterable[core.Node]) -> tuple[str, ...]:
    """Returns the flavors with a topology that have no node. Flavors whose nodes a ProvisioningRequest
    creates for each gang need none: the core does not place their gangs before the nodes exist."""
    provisioned = frozenset().union(*configuration.provisioned.values())
    labels = [node.labels for node in nodes if not node.unschedulable]
    return tuple(
        name
        for name, topology in configuration.topologies.items()
        if name not in provisioned
        and not any(_is_of(of, configuration.snapshot.flavors[name], topology) for of in labels)
    )


def _is_of(labels: Mapping[str, str], flavor: core.Flavor, topology: core.Topology) -> bool:
    selected = all(labels.get(key) == value for key, value in flavor.node_labels.items())
    return selected and all(level in labels for level in topology.levels)
