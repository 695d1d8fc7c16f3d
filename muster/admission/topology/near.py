"""Growth of a placed pod set: additional pods are placed near the pods that it already has."""

from muster.admission.model import TopologyAssignment
from muster.admission.topology.domains import Domain, DomainTree
from muster.admission.topology.flavor import FlavorTopology
from muster.admission.topology.placements import PlacementRefusal
from muster.admission.topology.request import PlacementRequest, level_key


def place_near(
    flavor: FlavorTopology, workers: PlacementRequest, leader: PlacementRequest | None, empty: bool
) -> dict[str, TopologyAssignment] | PlacementRefusal:
    """Places pods as `FlavorTopology.place` does: in the domain of the pod set's other pods if that is
    required, and there or else anywhere if it is preferred."""
    topology = workers.pod_set.topology
    if topology is None or not topology.near or not (topology.required or topology.preferred):
        return flavor.place(workers, leader, empty)
    within = _domain(flavor.tree, topology.near, level_key(topology, flavor.tree.keys))
    if within is None:
        if topology.required:
            message = f"no usable node is left in the {topology.required} of its other pods"
            return flavor.refuse(message, workers, leader)
        return flavor.place(workers, leader, empty)
    placed = flavor.place(workers, leader, empty, within)
    if isinstance(placed, PlacementRefusal) and not topology.required:
        return flavor.place(workers, leader, empty)
    return placed


def _domain(tree: DomainTree, near: tuple[tuple[str, ...], ...], key: str | None) -> Domain | None:
    """Returns the domain of the first of these leaves that still has a usable node; None without one."""
    level = tree.level(key or "")
    leaf = next((tree.leaves[values] for values in near if values in tree.leaves), None)
    return None if leaf is None or level is None else leaf.ancestor(level)
