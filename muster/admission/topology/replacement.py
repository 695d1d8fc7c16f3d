"""Node replacement: moves the pods of a failed node; the other pods of the set keep their domains.

The replacement respects the topology request: the required domain, and whole slices.
Source: findReplacementAssignment of Kueue's pkg/cache/scheduler/tas_flavor_snapshot.go.
"""

from dataclasses import replace

from muster.admission.model import TopologyAssignment, TopologyRequest
from muster.admission.topology.domains import Domain, DomainTree
from muster.admission.topology.flavor import FlavorTopology
from muster.admission.topology.placements import PlacementRefusal
from muster.admission.topology.request import PlacementRequest


def replace_node(
    flavor: FlavorTopology, request: PlacementRequest, current: TopologyAssignment, failed: str
) -> tuple[TopologyAssignment, TopologyAssignment] | PlacementRefusal:
    """Returns the new assignment, and the assignment of the moved pods alone."""
    tree = flavor.tree
    healthy = tuple(domain for domain in current.domains if domain.values[-1] != failed)
    staying = replace(current, domains=healthy)
    stale = tree.stale(staying)
    if stale is not None:
        return flavor.refuse(
            "Cannot replace the node, because the existing topologyAssignment is invalid, "
            f"as it contains the stale domain {stale.values[0]}",
            request,
        )
    moving = replace(request, count=sum(domain.count for domain in current.domains) - _pods(staying))
    within = _required_domain(tree, moving, staying)
    if within is not None:
        moving = _with_whole_slices(moving)
    placed = flavor.place(moving, within=within)
    if isinstance(placed, PlacementRefusal):
        return placed
    moved = placed[request.pod_set.name]
    if not moved.domains:
        return flavor.refuse(f"cannot find replacement assignment for unhealthy node: {failed}", request)
    return tree.merged(moved, staying), moved


def _pods(assignment: TopologyAssignment) -> int:
    return sum(domain.count for domain in assignment.domains)


def _required_domain(
    tree: DomainTree, moving: PlacementRequest, staying: TopologyAssignment
) -> Domain | None:
    """Returns the domain of the innermost slice that lost a part of its pods, else the required domain of the
    pod set. None: any domain."""
    topology = moving.pod_set.topology
    if topology is None or not staying.domains or any(constraint.size <= 0 for constraint in topology.slices):
        return None
    for constraint in reversed(topology.slices):
        if moving.count % constraint.size:
            level = tree.level(constraint.level)
            return None if level is None else _incomplete(tree, staying, moving.count, constraint.size, level)
    level = tree.level(topology.required) if topology.required else None
    return None if level is None else tree.leaves[staying.domains[0].values].ancestor(level)


def _incomplete(
    tree: DomainTree, staying: TopologyAssignment, missing: int, size: int, level: int
) -> Domain | None:
    """Returns the first domain of the level whose slices the missing pods would complete."""
    pods: dict[Domain, int] = {}
    for domain in staying.domains:
        of_level = tree.leaves[domain.values].ancestor(level)
        pods[of_level] = pods.get(of_level, 0) + domain.count
    completed = [domain for domain, count in pods.items() if (count + missing) % size == 0]
    return min(completed, key=lambda domain: domain.rank, default=None)


def _with_whole_slices(moving: PlacementRequest) -> PlacementRequest:
    """Requests the largest slices that the moved pods fill, if they do not fill outermost slices."""
    topology = moving.pod_set.topology or TopologyRequest()
    if not topology.slices or moving.count % topology.slices[0].size == 0:
        return moving
    filled = [constraint for constraint in topology.slices if moving.count % constraint.size == 0]
    request = replace(topology, slices=tuple(filled[-1:]))
    return replace(moving, pod_set=replace(moving.pod_set, topology=request))
