"""Nodes, the topology that they form, and where on it the pods of a gang go."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.admission.model.flavors import Taint

HOSTNAME = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True)
class Topology:
    """Labels of nodes from the widest domain to the narrowest."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """A node that pods can be placed on now. `used` is what pods that Muster does not place take,
    their number under `pods`."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    allocatable: Mapping[str, int] = field(default_factory=dict)
    used: Mapping[str, int] = field(default_factory=dict)
    unschedulable: bool = False
    ready: bool = True


@dataclass(frozen=True, slots=True)
class SliceConstraint:
    """`size` pods each in one domain of this level."""

    level: str
    size: int


@dataclass(frozen=True, slots=True)
class TopologyRequest:
    """How near the pods of a set want to be: `required` and `preferred` name a level.

    `slices` ask the same for parts of the set, the widest first. Pod sets of one `group` are
    placed on the same flavor, a leader beside its workers."""

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool = False
    slices: tuple[SliceConstraint, ...] = ()
    group: str | None = None


@dataclass(frozen=True, slots=True)
class TopologyDomain:
    values: tuple[str, ...]  # one a level
    count: int  # pods


@dataclass(frozen=True, slots=True)
class TopologyAssignment:
    """Levels end at the hostname alone where the topology does: hostnames are unique."""

    levels: tuple[str, ...]
    domains: tuple[TopologyDomain, ...]
