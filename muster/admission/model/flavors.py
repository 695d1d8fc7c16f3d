"""ResourceFlavors, and the constraints of pods on their labels and taints."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class TaintEffect(StrEnum):
    """Effects of Kubernetes' taints."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a flavor's nodes; only pods that tolerate it may use the flavor."""

    key: str
    value: str
    effect: TaintEffect


@dataclass(frozen=True, slots=True)
class Toleration:
    """An empty `key` with operator Exists tolerates all taints; effect None matches all effects."""

    key: str
    operator: str  # Equal | Exists
    value: str
    effect: TaintEffect | None


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement on one label, of a node or of a namespace."""

    key: str
    operator: str  # In | NotIn | Exists | DoesNotExist | Gt | Lt
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """Requirements that must all hold; an empty selector matches everything."""

    requirements: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class PreferredTerm:
    """A preferred node affinity term: adds `weight` to the score of nodes that meet all requirements."""

    weight: int
    requirements: tuple[Requirement, ...]


@dataclass(frozen=True, slots=True)
class Flavor:
    """A ResourceFlavor: the nodes with these labels and taints.

    If `topology` names a Topology, pods are placed on its domains. `node_sizes` holds the allocatable
    resources of each machine type in the flavor; empty if unknown."""

    name: str
    node_labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology: str | None = None
    node_sizes: tuple[Mapping[str, int], ...] = ()
