"""Placement requests, and their resolution on a topology: levels and slices."""

from dataclasses import dataclass
from itertools import pairwise

from muster.admission.model import PodSet, SliceConstraint, TopologyAssignment, TopologyRequest


@dataclass(frozen=True, slots=True)
class PlacementRequest:
    """A request to place `count` pods of a pod set. Each pod uses `pod_set.requests_of_nodes` (as in its
    template, not transformed for quota) and one of the node's `pods`.

    `implied`: the pod set requests no topology, but its queue has only flavors with one. `current` is the
    workload's own assignment, for node replacement; `previous` is the assignment of the slice that the
    workload replaces (elastic jobs)."""

    pod_set: PodSet
    count: int
    implied: bool = False
    current: TopologyAssignment | None = None
    previous: TopologyAssignment | None = None

    @property
    def group(self) -> str | None:
        """Returns the pod set group, which is placed together: its smaller pod set is the leader."""
        return self.pod_set.topology.group if self.pod_set.topology else None


@dataclass(frozen=True, slots=True)
class LevelRequest:
    """A resolved request: `count` pods within a domain of `level`, in slices of `slice_size` that each fit in
    a domain of `slice_level`.

    `inner` has the sizes of nested slices, by level."""

    count: int
    leaders: int  # 0 or 1
    level: int
    required: bool
    unconstrained: bool
    slice_size: int
    slice_level: int
    inner: dict[int, int]
    slices: tuple[SliceConstraint, ...]

    @property
    def slice_count(self) -> int:
        """The number of slices."""
        return self.count // self.slice_size


def resolve_request(request: PlacementRequest, leaders: int, keys: tuple[str, ...]) -> LevelRequest | str:
    """Resolves a request on a topology with these level keys; returns a message if that is impossible."""
    topology = request.pod_set.topology or TopologyRequest()
    slices = topology.slices
    if slices and slices[0].size <= 0:
        return "slice topology requested, but slice size not provided"
    key = level_key(topology, keys) or (keys[-1] if request.implied else None)
    if key is None:
        return "topology level not specified"
    if key not in keys:
        return f"no requested topology level: {key}"
    slice_key = slices[0].level if slices else keys[-1]
    if slice_key not in keys:
        return f"no requested topology level for slices: {slice_key}"
    level, slice_level = keys.index(key), keys.index(slice_key)
    if level > slice_level:
        return f"podset slice topology {slice_key} is above the podset topology {key}"
    inner = _inner_sizes(slices, keys)
    if isinstance(inner, str):
        return inner
    return LevelRequest(
        count=request.count,
        leaders=leaders,
        level=level,
        required=topology.required is not None,
        unconstrained=topology.unconstrained or request.implied or only_slices(topology),
        slice_size=slices[0].size if slices else 1,
        slice_level=slice_level,
        inner=inner,
        slices=slices,
    )


def level_key(topology: TopologyRequest, keys: tuple[str, ...]) -> str | None:
    """Returns the key of the requested level, required or preferred; None without a request."""
    if topology.required is not None:
        return topology.required
    if topology.preferred is not None:
        return topology.preferred
    if topology.slices:
        return keys[0]
    return keys[-1] if topology.unconstrained else None


def has_levels(topology: TopologyRequest, keys: tuple[str, ...]) -> bool:
    """Returns whether the topology with these levels has all requested ones."""
    return level_key(topology, keys) in keys and all(
        constraint.level in keys for constraint in topology.slices
    )


def only_slices(topology: TopologyRequest) -> bool:
    """Returns whether only slices are constrained: the pod set itself may use any domains."""
    return topology.required is None and topology.preferred is None and bool(topology.slices)


def _inner_sizes(slices: tuple[SliceConstraint, ...], keys: tuple[str, ...]) -> dict[int, int] | str:
    """Returns slice sizes by level below the outermost slices. Levels between two constraints have the inner
    size, so every level gets whole slices."""
    inner: dict[int, int] = {}
    for outer, nested in pairwise(slices):
        if nested.level not in keys:
            return f"no requested topology level for additional slice layer: {nested.level}"
        above, level = keys.index(outer.level), keys.index(nested.level)
        if level <= above:
            return (
                f"additional slice layer topology {nested.level} must be at a lower level than {outer.level}"
            )
        if nested.size <= 0 or outer.size % nested.size:
            return (
                f"additional slice layer size {nested.size} must evenly divide parent layer size {outer.size}"
            )
        inner.update(dict.fromkeys(range(above + 1, level + 1), nested.size))
    return inner
