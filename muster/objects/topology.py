"""Topologies, topology requests in the annotations of pod templates, Nodes, and pods bound to nodes.

Source: Kueue apis/kueue/v1beta2/topology_types.go, pkg/controller/jobframework/tas.go;
pkg/cache/scheduler/tas_non_tas_pod_cache.go for usage of nodes.
"""

from collections.abc import Mapping

import msgspec

from muster.objects import kueue
from muster.objects.core import PodStatus
from muster.objects.meta import Condition, Object, View
from muster.objects.names import (
    PLACED_ANNOTATIONS,
    POD_SET_GROUP,
    PREFERRED_TOPOLOGY,
    REQUIRED_TOPOLOGY,
    SLICE_SIZE,
    SLICE_TOPOLOGIES,
    SLICE_TOPOLOGY,
    UNCONSTRAINED_TOPOLOGY,
)
from muster.objects.pods import PodSpec


class TopologyLevel(View):
    """A level of a topology: the node label whose values are its domains."""

    node_label: str


class TopologySpec(View):
    """The levels of a topology, the widest first."""

    levels: tuple[TopologyLevel, ...] = ()


class Topology(Object):
    """A hierarchy of domains of nodes."""

    spec: TopologySpec = TopologySpec()


class Taint(View):
    """A taint of a node."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(View):
    """Returns whether pods may be scheduled on a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(View):
    """The capacity and the conditions of a node."""

    allocatable: dict[str, str | int] = {}
    conditions: tuple[Condition, ...] = ()


class Node(Object):
    """A node with its labels."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class BoundPod(Object):
    """A pod with its node and its requests."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def counts_on_node(self) -> bool:
        """Returns whether the pod uses capacity that no admission accounts for (Kueue:
        belongsToNonTASCache)."""
        ended = self.status.phase in ("Succeeded", "Failed")
        placed = not PLACED_ANNOTATIONS.isdisjoint(self.metadata.annotations)
        return bool(self.spec.node_name) and not ended and not placed


def annotated_request(annotations: Mapping[str, str]) -> kueue.TopologyRequest | None:
    """Returns a pod template's topology request. Raises: ValueError that names the unreadable annotation."""
    required, preferred = annotations.get(REQUIRED_TOPOLOGY), annotations.get(PREFERRED_TOPOLOGY)
    constrained = required is not None or preferred is not None
    slices = _annotated_slices(annotations)
    if not constrained and UNCONSTRAINED_TOPOLOGY not in annotations and slices is None:
        return None
    return kueue.TopologyRequest(
        required=required,
        preferred=preferred if required is None else None,
        unconstrained=None if constrained else _annotated_unconstrained(annotations),
        pod_set_group_name=annotations.get(POD_SET_GROUP) if constrained else None,
        podset_slice_required_topology_constraints=slices or (),
    )


def _annotated_unconstrained(annotations: Mapping[str, str]) -> bool | None:
    text = annotations.get(UNCONSTRAINED_TOPOLOGY)
    if text not in (None, "true", "false"):
        raise ValueError(f"annotation {UNCONSTRAINED_TOPOLOGY} is {text!r}; expected true or false")
    return None if text is None else text == "true"


def _annotated_slices(annotations: Mapping[str, str]) -> tuple[kueue.SliceConstraint, ...] | None:
    if SLICE_TOPOLOGIES in annotations:
        try:
            return msgspec.json.decode(annotations[SLICE_TOPOLOGIES], type=tuple[kueue.SliceConstraint, ...])
        except msgspec.MsgspecError as error:
            raise ValueError(f"annotation {SLICE_TOPOLOGIES}: {error}") from error
    level, size = annotations.get(SLICE_TOPOLOGY), annotations.get(SLICE_SIZE)
    if level is None or size is None:
        return None
    if not size.isdecimal():
        raise ValueError(f"annotation {SLICE_SIZE} is {size!r}; expected a number of pods")
    return (kueue.SliceConstraint(topology=level, size=int(size)),)
