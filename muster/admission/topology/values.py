"""What is asked of a topology, what it answers, and what is counted against it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.admission.model import PodSet, Resources, TopologyAssignment


@dataclass(frozen=True, slots=True)
class PlacementRequest:
    """`count` pods of a pod set to be placed. What one pod takes of a node is `pod_set.requests` (as
    in its template, not as transformed for the quota) and one of `pods`.

    `implied`: the pod set asks for no topology, but its queue has only flavors with one.
    `current` is where the workload's own pods are, for the replacement of a failed node;
    `previous` where those of the slice are that the workload replaces (elastic jobs)."""

    pod_set: PodSet
    count: int
    implied: bool = False
    current: TopologyAssignment | None = None
    previous: TopologyAssignment | None = None

    @property
    def group(self) -> str | None:
        """Pod sets of one group are placed together: the smaller one is the leader of the other."""
        return self.pod_set.topology.group if self.pod_set.topology else None


@dataclass(frozen=True, slots=True)
class Placed:
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
class Refusal:
    """Why these pod sets (one, or a leader and its workers) can't be placed on the flavor."""

    flavor: str
    pod_sets: tuple[str, ...]
    message: str  # a sentence, as Kueue words it
    exclusions: Exclusions = NOTHING_EXCLUDED


@dataclass(frozen=True, slots=True)
class Placements:
    """By pod set. With a refusal nothing counts: a gang is placed whole or not at all."""

    assignments: Mapping[str, TopologyAssignment]
    refusal: Refusal | None = None
