"""The reasons why pods cannot be placed, in Kueue's words.

Source: notFitMessage and multiLayerNotFitMessage of pkg/cache/scheduler/tas_flavor_snapshot.go.
"""

from collections.abc import Iterator

from muster.admission.topology.domain_capacity import DomainCapacities, DomainCapacity
from muster.admission.topology.domains import DomainTree
from muster.admission.topology.placements import Exclusions
from muster.admission.topology.request import LevelRequest
from muster.admission.topology.search import InsufficientCapacity


def exclusions_of(capacities: DomainCapacities) -> Exclusions:
    matches = capacities.matches
    return Exclusions(
        total=len(capacities.levels[-1]),
        selector=matches.selector,
        affinity=matches.affinity,
        domain=capacities.outside,
        taints=matches.taints,
        resources=capacities.full_leaves(),
    )


def sentence(
    tree: DomainTree,
    capacities: DomainCapacities,
    request: LevelRequest,
    shortage: InsufficientCapacity,
    excluded: Exclusions,
) -> str:
    text = f'topology "{tree.topology}" '
    if request.inner:
        text += "doesn't allow to fit"
        best = min(capacities.levels[shortage.level], key=lambda capacity: (-capacity.slices, capacity.rank))
        for constraint in request.slices:
            fitting = _slices_within(best, tree.keys.index(constraint.level), constraint.size)
            text += f"; {fitting}/{request.count // constraint.size} slice(s) fit on level {constraint.level}"
    else:
        unit = "pod" if request.slice_size == 1 else "slice"
        requested, fitting = request.slice_count, shortage.fitting
        text += f"allows to fit only {fitting} out of" if fitting else "doesn't allow to fit any of"
        text += f" {requested} {unit}(s)"
    causes = ", ".join(sorted(_causes(excluded)))
    return f"{text}. Total nodes: {excluded.total}; excluded: {causes}" if causes else text


def _slices_within(capacity: DomainCapacity, level: int, size: int) -> int:
    if capacity.domain.level == level:
        return capacity.pods // size
    return sum(_slices_within(child, level, size) for child in capacity.children)


def _causes(excluded: Exclusions) -> Iterator[str]:
    if excluded.selector:
        yield f"nodeSelector: {excluded.selector}"
    if excluded.affinity:
        yield f"affinity: {excluded.affinity}"
    if excluded.domain:
        yield f"topologyDomain: {excluded.domain}"
    for taint, nodes in excluded.taints.items():
        yield f'taint "{taint}": {nodes}'
    for resource, nodes in excluded.resources.items():
        yield f'resource "{resource}": {nodes}'
