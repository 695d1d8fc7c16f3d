"""Placement of pods: Topologies, Nodes, pods on them, and topology requests.

Source: Kueue apis/kueue/v1beta2/topology_types.go; pkg/cache/scheduler/tas_non_tas_pod_cache.go for usage of
nodes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TypedDict

import msgspec

from muster import admission as core
from muster.admission.quantities import parse
from muster.objects import kueue
from muster.objects.core import PodStatus
from muster.objects.meta import Condition, Object, View, is_true
from muster.objects.pods import PodSpec, spec_requests

_PREFIX = "kueue.x-k8s.io/podset-"
REQUIRED = f"{_PREFIX}required-topology"
PREFERRED = f"{_PREFIX}preferred-topology"
UNCONSTRAINED = f"{_PREFIX}unconstrained-topology"
SLICE_LEVEL = f"{_PREFIX}slice-required-topology"
SLICE_SIZE = f"{_PREFIX}slice-size"
SLICES = f"{_PREFIX}slice-required-topology-constraints"
GROUP_NAME = f"{_PREFIX}group-name"
PLACED_ANNOTATIONS = frozenset((REQUIRED, PREFERRED, UNCONSTRAINED, SLICE_LEVEL, SLICES))
"""A pod with one of these is placed by an admission, which accounts for its usage."""


class TopologyLevel(View):
    node_label: str


class TopologySpec(View):
    levels: tuple[TopologyLevel, ...] = ()


class Topology(Object):
    spec: TopologySpec = TopologySpec()


class Taint(View):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(View):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(View):
    allocatable: dict[str, str | int] = {}
    conditions: tuple[Condition, ...] = ()


class Node(Object):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class BoundPod(Object):
    """A pod with its node and its requests."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def counts(self) -> bool:
        """Returns whether it uses capacity that no admission accounts for (Kueue: belongsToNonTASCache)."""
        ended = self.status.phase in ("Succeeded", "Failed")
        placed = not PLACED_ANNOTATIONS.isdisjoint(self.metadata.annotations)
        return bool(self.spec.node_name) and not ended and not placed


def topology(obj: Topology) -> core.Topology:
    return core.Topology(obj.metadata.name, tuple(level.node_label for level in obj.spec.levels))


def node(obj: Node, used: Mapping[str, int]) -> core.Node:
    """Converts a Node. Raises: ValueError (QuantityError, or for a taint's effect) that names the field."""
    return core.Node(
        name=obj.metadata.name,
        labels=obj.metadata.labels,
        taints=tuple(core.Taint(t.key, t.value, core.TaintEffect(t.effect)) for t in obj.spec.taints),
        allocatable={name: parse(name, amount) for name, amount in obj.status.allocatable.items()},
        used=used,
        unschedulable=obj.spec.unschedulable,
        ready=is_true(obj.status.conditions, "Ready"),
    )


class Places(TypedDict):
    """The topologies and nodes of a snapshot."""

    topologies: Mapping[str, core.Topology]
    nodes: Mapping[str, core.Node]


def places(topologies: Iterable[Topology], nodes: Iterable[Node], pods: Iterable[BoundPod]) -> Places:
    """Converts topologies and nodes; leaves out unreadable nodes."""
    used = used_by_node(pods)
    found = {}
    for obj in nodes:
        with suppress(ValueError):
            found[obj.metadata.name] = node(obj, used.get(obj.metadata.name, {}))
    return Places(topologies={obj.metadata.name: topology(obj) for obj in topologies}, nodes=found)


def used_by_node(pods: Iterable[BoundPod]) -> dict[str, Mapping[str, int]]:
    """Returns usage by node of pods that no admission accounts for, with their number as `pods`.

    A pod with unreadable requests counts as one without requests; the API server accepts no such pod.
    """
    used: dict[str, Counter[str]] = {}
    for pod in pods:
        if pod.counts:
            total = used.setdefault(pod.spec.node_name, Counter())
            total["pods"] += 1
            try:
                total.update(spec_requests(pod.spec))
            except core.QuantityError:
                continue
    return dict(used)


def annotated(annotations: Mapping[str, str]) -> kueue.TopologyRequest | None:
    """Returns a pod template's topology request. Raises: ValueError that names the unreadable annotation.

    Source: Kueue pkg/controller/jobframework/tas.go.
    """
    required, preferred = annotations.get(REQUIRED), annotations.get(PREFERRED)
    near = required is not None or preferred is not None
    slices = _annotated_slices(annotations)
    if not near and UNCONSTRAINED not in annotations and slices is None:
        return None
    return kueue.TopologyRequest(
        required=required,
        preferred=preferred if required is None else None,
        unconstrained=None if near else _annotated_unconstrained(annotations),
        pod_set_group_name=annotations.get(GROUP_NAME) if near else None,
        podset_slice_required_topology_constraints=slices or (),
    )


def _annotated_unconstrained(annotations: Mapping[str, str]) -> bool | None:
    text = annotations.get(UNCONSTRAINED)
    if text not in (None, "true", "false"):
        raise ValueError(f"annotation {UNCONSTRAINED} is {text!r}; expected true or false")
    return None if text is None else text == "true"


def _annotated_slices(annotations: Mapping[str, str]) -> tuple[kueue.SliceConstraint, ...] | None:
    if SLICES in annotations:
        try:
            return msgspec.json.decode(annotations[SLICES], type=tuple[kueue.SliceConstraint, ...])
        except msgspec.MsgspecError as error:
            raise ValueError(f"annotation {SLICES}: {error}") from error
    level, size = annotations.get(SLICE_LEVEL), annotations.get(SLICE_SIZE)
    if level is None or size is None:
        return None
    if not size.isdecimal():
        raise ValueError(f"annotation {SLICE_SIZE} is {size!r}; expected a number of pods")
    return (kueue.SliceConstraint(topology=level, size=int(size)),)


def request(obj: kueue.TopologyRequest | None) -> core.TopologyRequest | None:
    if obj is None:
        return None
    slices = tuple(
        core.SliceConstraint(constraint.topology, constraint.size)
        for constraint in obj.podset_slice_required_topology_constraints
    )
    if not slices and obj.pod_set_slice_required_topology is not None:
        slices = (core.SliceConstraint(obj.pod_set_slice_required_topology, obj.pod_set_slice_size or 0),)
    return core.TopologyRequest(
        required=obj.required,
        preferred=obj.preferred,
        unconstrained=bool(obj.unconstrained),
        slices=slices,
        group=obj.pod_set_group_name,
    )
