"""Topologies, nodes, and the topology requests and assignments of pod sets."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.admission.model.flavors import Taint

HOSTNAME = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True)
class Topology:
    """Node label keys, from the widest level to the narrowest."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """A node. `used` is the usage of pods that topology-aware scheduling does not place; their number is
    in `pods`."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    allocatable: Mapping[str, int] = field(default_factory=dict)
    used: Mapping[str, int] = field(default_factory=dict)
    unschedulable: bool = False
    ready: bool = True


@dataclass(frozen=True, slots=True)
class SliceConstraint:
    """A slice: `size` pods within one domain of this level."""

    level: str
    size: int


@dataclass(frozen=True, slots=True)
class TopologyRequest:
    """The topology request of a pod set: `required` and `preferred` name a level.

    `slices` constrain parts of the pod set, the widest level first. Pod sets of the same `group` (a leader
    and its workers) are placed together, on the same flavor. `near` are the assigned domains of pods that the
    set already has: `required` is the domain that contains them, and `preferred` is tried there first."""

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool = False
    slices: tuple[SliceConstraint, ...] = ()
    group: str | None = None
    near: tuple[tuple[str, ...], ...] = ()  # by their values in an assignment


@dataclass(frozen=True, slots=True)
class TopologyDomain:
    """A domain, by its values of the levels, with the number of pods that are placed on it."""

    values: tuple[str, ...]  # one per level
    count: int  # pods


@dataclass(frozen=True, slots=True)
class TopologyAssignment:
    """The pods of each domain. If the lowest level is the hostname, `levels` has that alone."""

    levels: tuple[str, ...]
    domains: tuple[TopologyDomain, ...]
