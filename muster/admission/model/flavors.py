"""Kinds of nodes: labels, taints, and what pods say of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class TaintEffect(StrEnum):
    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str
    effect: TaintEffect


@dataclass(frozen=True, slots=True)
class Toleration:
    """An empty `key` with operator Exists tolerates everything; effect None means every effect."""

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
    """Requirements that all have to hold; a selector without any selects everything."""

    requirements: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class PreferredTerm:
    """Nodes on which all of this holds are worth `weight` more."""

    weight: int
    requirements: tuple[Requirement, ...]


@dataclass(frozen=True, slots=True)
class Flavor:
    """A ResourceFlavor: the nodes that carry these labels, behind these taints.

    With `topology`, the name of a Topology, pods are placed on its domains. `node_sizes` is what one node has
    for pods, for each kind of nodes; empty: not known."""

    name: str
    node_labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology: str | None = None
    node_sizes: tuple[Mapping[str, int], ...] = ()
