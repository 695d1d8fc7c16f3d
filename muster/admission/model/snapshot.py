"""A snapshot: all inputs of a decision at one time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from muster.admission.model.budgets import Spent
from muster.admission.model.flavors import Flavor
from muster.admission.model.queues import ClusterQueue, Cohort
from muster.admission.model.topology import Node, Topology
from muster.admission.model.workloads import Workload


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The objects of a cluster by name. `workloads` are pending or hold quota; finished ones are omitted.

    `namespaces` are labels by namespace; a missing namespace has none. `local_usage` is the weighted recent
    usage of LocalQueues (namespace/name; queueing/usage.py), for usage-based queues. `spent` is the
    usage of queues that counts for their budgets (rules/budgets.py)."""

    flavors: Mapping[str, Flavor]
    cohorts: Mapping[str, Cohort]
    cluster_queues: Mapping[str, ClusterQueue]
    workloads: tuple[Workload, ...]
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    topologies: Mapping[str, Topology] = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)
    local_usage: Mapping[str, Fraction] = field(default_factory=dict)
    spent: Mapping[str, tuple[Spent, ...]] = field(default_factory=dict)  # by ClusterQueue
