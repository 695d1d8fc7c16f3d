"""Everything that a decision reads, at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.admission.model.flavors import Flavor
from muster.admission.model.queues import ClusterQueue, Cohort
from muster.admission.model.topology import Node, Topology
from muster.admission.model.workloads import Workload


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All of it, by name. `workloads` holds the pending and the reserved, none finished.

    `namespaces` are labels by namespace; one that is not there has none."""

    flavors: Mapping[str, Flavor]
    cohorts: Mapping[str, Cohort]
    cluster_queues: Mapping[str, ClusterQueue]
    workloads: tuple[Workload, ...]
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    topologies: Mapping[str, Topology] = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)
