"""The quota that gangs compete for: whoever frees some of it can only help those who ask for the same."""

from typing import NamedTuple

from muster.controller.world import World
from muster.objects.kueue import Admission


class Column(NamedTuple):
    """One resource of one flavor, in one tree of cohorts; where a flavor has a topology, in all trees:
    they share its nodes."""

    tree: str
    flavor: str
    resource: str


def columns(admission: Admission, world: World) -> frozenset[Column]:
    """What the admission holds; of a ClusterQueue that is gone, in any tree, as nobody knows which."""
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
    """The tree of cohorts that the ClusterQueue is in; of a cycle of cohorts, the first by name."""
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
