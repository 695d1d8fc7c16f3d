"""The answers of a topology: places of pods, or why there are none."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.admission.model import Resources, TopologyAssignment


@dataclass(frozen=True, slots=True)
class TopologyUsage:
    """Pods on domains of a flavor; `requests` is what one of them takes, `pods` apart."""

    flavor: str
    assignment: TopologyAssignment
    requests: Resources


@dataclass(frozen=True, slots=True)
class Exclusions:
    """Leaves (nodes, where the hostname is the lowest level) that can't take a single pod, by cause."""

    total: int = 0
    selector: int = 0
    affinity: int = 0
    domain: int = 0  # outside of the domain that a replacement has to stay in
    taints: Mapping[str, int] = field(default_factory=dict)
    resources: Mapping[str, int] = field(default_factory=dict)  # the one that limits most


NOTHING_EXCLUDED = Exclusions()


@dataclass(frozen=True, slots=True)
class PlacementRefusal:
    """Why these pod sets (one, or a leader and its workers) can't be placed on the flavor."""

    flavor: str
    pod_sets: tuple[str, ...]
    message: str  # a sentence, as Kueue words it
    exclusions: Exclusions = NOTHING_EXCLUDED


@dataclass(frozen=True, slots=True)
class Placements:
    """Assignments by pod set. With a refusal none of them counts: a gang is placed whole or not at all."""

    assignments: Mapping[str, TopologyAssignment]
    refusal: PlacementRefusal | None = None
