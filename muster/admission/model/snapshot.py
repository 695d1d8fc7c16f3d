"""Everything that a decision reads, at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from muster.admission.model.flavors import Flavor
from muster.admission.model.queues import ClusterQueue, Cohort, Spent
from muster.admission.model.topology import Node, Topology
from muster.admission.model.workloads import Workload


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All of it, by name. `workloads` holds the pending and the reserved, none finished.

    `namespaces` are labels by namespace; one that is not there has none. `local_usage` is what
    LocalQueues (namespace/name) used lately, weighted (queueing/usage.py), for queues that go by it.
    `spent` is what queues used of their budgets (rules/budgets.py)."""

    flavors: Mapping[str, Flavor]
    cohorts: Mapping[str, Cohort]
    cluster_queues: Mapping[str, ClusterQueue]
    workloads: tuple[Workload, ...]
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    topologies: Mapping[str, Topology] = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)
    local_usage: Mapping[str, Fraction] = field(default_factory=dict)
    spent: Mapping[str, tuple[Spent, ...]] = field(default_factory=dict)  # by ClusterQueue
