"""Results of placement: topology assignments, or the reason for a refusal in Kueue's words.

Source: notFitMessage and multiLayerNotFitMessage of pkg/cache/scheduler/tas_flavor_snapshot.go.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from muster.admission.model import Resources, TopologyAssignment
from muster.admission.topology.domain_capacity import DomainCapacities, DomainCapacity
from muster.admission.topology.domains import DomainTree
from muster.admission.topology.request import LevelRequest
from muster.admission.topology.search import InsufficientCapacity


@dataclass(frozen=True, slots=True)
class TopologyUsage:
    """The usage of a pod set on domains of a flavor; `requests` are per pod, without `pods`."""

    flavor: str
    assignment: TopologyAssignment
    requests: Resources


@dataclass(frozen=True, slots=True)
class Exclusions:
    """The numbers of leaves (nodes, if the lowest level is the hostname) that fit no pod, by cause."""

    total: int = 0
    selector: int = 0
    affinity: int = 0
    domain: int = 0  # outside the domain that a replacement must stay in
    taints: Mapping[str, int] = field(default_factory=dict)
    resources: Mapping[str, int] = field(default_factory=dict)  # by limiting resource


NOTHING_EXCLUDED = Exclusions()


@dataclass(frozen=True, slots=True)
class PlacementRefusal:
    """The reason why pod sets (one, or a leader and its workers) cannot be placed on the flavor."""

    flavor: str
    pod_sets: tuple[str, ...]
    message: str  # a sentence in Kueue's words
    exclusions: Exclusions = NOTHING_EXCLUDED


@dataclass(frozen=True, slots=True)
class Placements:
    """Assignments by pod set; with a refusal they are void, as gangs are placed whole or not at all."""

    assignments: Mapping[str, TopologyAssignment]
    refusal: PlacementRefusal | None = None


def exclusions_of(capacities: DomainCapacities) -> Exclusions:
    """Counts the leaves that fit no pod, by cause."""
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
    """Returns the message of a refusal in Kueue's words."""
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
