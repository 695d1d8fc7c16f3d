"""Topologies, Nodes, and pods bound to nodes.

Source: Kueue apis/kueue/v1beta2/topology_types.go; pkg/cache/scheduler/tas_non_tas_pod_cache.go for usage of
nodes.
"""

from muster.objects.core import PodStatus
from muster.objects.meta import Condition, Object, View
from muster.objects.names import (
    PREFERRED_TOPOLOGY,
    REQUIRED_TOPOLOGY,
    SLICE_TOPOLOGIES,
    SLICE_TOPOLOGY,
    UNCONSTRAINED_TOPOLOGY,
)
from muster.objects.pods import PodSpec

PLACED_ANNOTATIONS = frozenset(
    (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY, UNCONSTRAINED_TOPOLOGY, SLICE_TOPOLOGY, SLICE_TOPOLOGIES)
)
"""Annotations of pods that an admission assigns to nodes and accounts for."""


class TopologyLevel(View):
    node_label: str


class TopologySpec(View):
    levels: tuple[TopologyLevel, ...] = ()


class Topology(Object):
    spec: TopologySpec = TopologySpec()


class Taint(View):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(View):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(View):
    allocatable: dict[str, str | int] = {}
    conditions: tuple[Condition, ...] = ()


class Node(Object):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class BoundPod(Object):
    """A pod with its node and its requests."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def counts_on_node(self) -> bool:
        """Returns whether the pod uses capacity that no admission accounts for (Kueue:
        belongsToNonTASCache)."""
        ended = self.status.phase in ("Succeeded", "Failed")
        placed = not PLACED_ANNOTATIONS.isdisjoint(self.metadata.annotations)
        return bool(self.spec.node_name) and not ended and not placed
