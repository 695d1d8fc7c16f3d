"""Results of placement: topology assignments, or the reason for a refusal."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.admission.model import Resources, TopologyAssignment


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
