"""The quota that gangs compete for: releasing some of it only helps gangs that request the same."""

from typing import NamedTuple

from muster.controller.world import World
from muster.objects.kueue import Admission


class Column(NamedTuple):
    """One resource of one flavor in one tree of cohorts; in all trees for a flavor with a topology, whose
    nodes they share."""

    tree: str
    flavor: str
    resource: str


def columns(admission: Admission, world: World) -> frozenset[Column]:
    """Returns the columns that the admission uses; in any tree if its ClusterQueue is gone."""
    queue = admission.cluster_queue
    queues = [queue] if queue in world.cluster_queues else list(world.cluster_queues)
    return frozenset(
        column(tree, flavor, resource, world)
        for tree in {root_of(name, world) for name in queues}
        for assigned in admission.pod_set_assignments
        for resource, flavor in assigned.flavors.items()
    )


def column(tree: str, flavor: str, resource: str, world: World) -> Column:
    known = world.flavors.get(flavor)
    placed = known is not None and bool(known.spec.topology_name)
    return Column("" if placed else tree, flavor, resource)


def root_of(queue: str, world: World) -> str:
    """Returns the tree of cohorts of the ClusterQueue; for a cycle of cohorts, the first by name."""
    found = world.cluster_queues.get(queue)
    cohort = found.spec.cohort_name if found is not None else ""
    way: list[str] = []
    while cohort and cohort not in way:
        way.append(cohort)
        parent = world.cohorts.get(cohort)
        cohort = parent.spec.parent_name if parent is not None else ""
    if not way:
        return f"ClusterQueue {queue}"
    return f"Cohort {min(way[way.index(cohort) :]) if cohort else way[-1]}"
