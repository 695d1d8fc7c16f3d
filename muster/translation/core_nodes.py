"""Converts topologies, nodes and topology requests to the core's values.

Source: Kueue pkg/cache/scheduler/tas_non_tas_pod_cache.go for the usage of nodes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TypedDict

from muster import admission as core
from muster.admission.quantities import parse
from muster.objects import kueue
from muster.objects.meta import is_true
from muster.objects.pods import spec_requests
from muster.objects.topology import BoundPod, Node, Topology


def topology(obj: Topology) -> core.Topology:
    """Returns a Topology with its levels, from the widest to the narrowest."""
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


class TopologiesAndNodes(TypedDict):
    """The topologies and nodes of a snapshot."""

    topologies: Mapping[str, core.Topology]
    nodes: Mapping[str, core.Node]


def topologies_and_nodes(
    topologies: Iterable[Topology], nodes: Iterable[Node], pods: Iterable[BoundPod]
) -> TopologiesAndNodes:
    """Converts topologies and nodes; skips unreadable nodes."""
    used = used_by_node(pods)
    by_name = {}
    for obj in nodes:
        with suppress(ValueError):
            by_name[obj.metadata.name] = node(obj, used.get(obj.metadata.name, {}))
    return TopologiesAndNodes(
        topologies={obj.metadata.name: topology(obj) for obj in topologies}, nodes=by_name
    )


def used_by_node(pods: Iterable[BoundPod]) -> dict[str, Mapping[str, int]]:
    """Returns the usage of each node by pods that no admission accounts for, with their number as `pods`.

    A pod with unreadable requests, which the API server would reject, counts as one without requests.
    """
    used: dict[str, Counter[str]] = {}
    for pod in pods:
        if pod.counts_on_node:
            total = used.setdefault(pod.spec.node_name, Counter())
            total["pods"] += 1
            try:
                total.update(spec_requests(pod.spec))
            except core.QuantityError:
                continue
    return dict(used)


def topology_request(obj: kueue.TopologyRequest | None) -> core.TopologyRequest | None:
    """Returns the topology request of a pod set; None if it has none."""
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
