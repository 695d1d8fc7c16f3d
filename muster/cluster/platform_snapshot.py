"""The core's snapshot of everything but Workloads, converted again only when it changes."""

from collections.abc import Mapping
from typing import Any

from muster.cluster.cluster_state import ClusterState
from muster.objects.names import BUDGETS
from muster.translation import core_nodes, snapshot


class PlatformSnapshot:
    """The core's snapshot without Workloads, converted again only if fields changed that decisions depend on;
    status fields are not among them."""

    def __init__(self) -> None:
        self._objects: tuple[Any, ...] = ()
        self._specs: tuple[Any, ...] = ()
        self._placement_objects: tuple[Any, ...] = ()  # Topologies, Nodes and Pods
        self._topologies_and_nodes = core_nodes.topologies_and_nodes((), (), ())
        self.snapshot = snapshot.snapshot((), (), (), ())

    def refresh(self, cluster: ClusterState) -> bool:
        """Converts the objects again if they changed. Returns whether the snapshot changed."""
        topologies_and_nodes = self._topologies_and_nodes_of(cluster)
        objects = (
            dict(cluster.flavors),
            dict(cluster.cohorts),
            dict(cluster.cluster_queues),
            dict(cluster.checks),
            dict(cluster.namespaces),
            cluster.unobserved_namespaces,
            cluster.deleted_queues,
        )
        same_nodes = topologies_and_nodes == self._topologies_and_nodes
        # Usually the objects are identical; comparing all specs takes a millisecond with 1,000 queues.
        if objects == self._objects and same_nodes:
            return False
        self._objects = objects
        specs = (
            {name: (flavor.spec, flavor.node_sizes) for name, flavor in cluster.flavors.items()},
            _specs_and_budgets(cluster.cohorts),
            _specs_and_budgets(cluster.cluster_queues),
            _specs(cluster.checks),
            cluster.namespace_labels,
            cluster.deleted_queues,
        )
        if specs == self._specs and same_nodes:
            return False
        self.snapshot = snapshot.snapshot(
            cluster.flavors.values(),
            cluster.cohorts.values(),
            cluster.cluster_queues.values(),
            (),
            checks=cluster.checks,
            namespaces=cluster.namespace_labels,
            deleted_queues=cluster.deleted_queues,
            **topologies_and_nodes,
        )
        self._specs, self._topologies_and_nodes = specs, topologies_and_nodes
        return True

    def _topologies_and_nodes_of(self, cluster: ClusterState) -> core_nodes.TopologiesAndNodes:
        topologies, nodes, pods = placement_objects = (
            dict(cluster.topologies),
            dict(cluster.nodes),
            dict(cluster.bound_pods),
        )
        if placement_objects == self._placement_objects:
            return self._topologies_and_nodes
        converted = core_nodes.topologies_and_nodes(topologies.values(), nodes.values(), pods.values())
        self._placement_objects = placement_objects
        return converted


def _specs_and_budgets(objects: Mapping[str, Any]) -> dict[str, Any]:
    return {key: (obj.spec, obj.metadata.annotations.get(BUDGETS)) for key, obj in objects.items()}


def _specs(objects: Mapping[str, Any]) -> dict[str, Any]:
    return {key: obj.spec for key, obj in objects.items()}
