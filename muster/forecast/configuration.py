"""A queue configuration: the objects that decide about jobs, as the controller would read them from a
cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster import admission as core
from muster.admission.lifecycle import Backoff


class ConfigurationError(ValueError):
    """A configuration that cannot be simulated. The message names the problem, its place, and the expected
    value."""


@dataclass(frozen=True, slots=True)
class QueueConfiguration:
    """The queues and rules that decide about jobs."""

    name: str
    snapshot: core.Snapshot  # without workloads
    rules: core.Rules
    local_queues: Mapping[str, str]  # ClusterQueue by namespace/name
    priorities: Mapping[str, int]  # by class
    provisioned: Mapping[str, frozenset[str]]  # by ClusterQueue: flavors with nodes from an admission check
    retry: Backoff = Backoff(60, 1800)  # noqa: RUF009 - frozen; between ProvisioningRequests
    retries_max: int = 3
    # Flavors whose nodes the cluster autoscaler adds and removes, with the accelerators of their minimum
    # size.
    autoscaled: Mapping[str, int] = field(default_factory=dict)
    reserved: Mapping[str, int] = field(default_factory=dict)  # accelerators of reservations, by flavor
    spot: frozenset[str] = frozenset()  # flavors of spot nodes, which the cloud may reclaim
    purchase_options: Mapping[str, str] = field(default_factory=dict)  # `provisioning` of pools, by flavor
    # Seconds after which the cloud deletes a node, by flavor; simulations do not delete it.
    node_life_s: Mapping[str, int] = field(default_factory=dict)
    # By flavor. Gangs are placed if the snapshot has nodes for all of them (`forecast.nodes`).
    topologies: Mapping[str, core.Topology] = field(default_factory=dict)
    without_nodes: tuple[str, ...] = ()  # flavors because of which all topologies are ignored
    assumed_nodes: tuple[str, ...] = ()  # sentences about nodes that are assumed
    # Of jobs whose trace records none, by a flavor of their queue.
    topology_requests: Mapping[str, core.TopologyRequest] = field(default_factory=dict)
    # Queues of added teams that the objects lack, with the queue that each is a copy of.
    assumed_queues: Mapping[str, str] = field(default_factory=dict)
