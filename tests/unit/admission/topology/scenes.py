"""Small clusters and placements in few words.

A node is `block/rack/host=gpus`; as many of the last levels as a cluster's nodes have. A placement is
`host:pods host:pods` in its order, or `block/rack:pods` where hosts are no level.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from muster.admission.model import (
    HOSTNAME,
    Flavor,
    Node,
    PodSet,
    Rules,
    SliceConstraint,
    Topology,
    TopologyAssignment,
    TopologyDomain,
    TopologyRequest,
)
from muster.admission.topology import PlacementRequest, Placements, Topologies, TopologyUsage

GPU, FLAVOR = "gpu", "a"
BLOCK, RACK, HOST = "block", "rack", HOSTNAME


def node(text: str, **fields: Any) -> Node:
    path, _, gpus = text.partition("=")
    values = path.split("/")
    labels = dict(zip((BLOCK, RACK, HOST)[-len(values) :], values, strict=True))
    return replace(Node(path, labels, allocatable={GPU: int(gpus), "pods": 100}), **fields)


def cluster(
    *nodes: str | Node,
    levels: tuple[str, ...] = (),
    flavors: Mapping[str, Flavor] | None = None,
    **rules: Any,
) -> Topologies:
    """Levels default to those of the first node. There is one flavor, which selects all nodes."""
    node_objects = [entry if isinstance(entry, Node) else node(entry) for entry in nodes]
    levels = levels or tuple(node_objects[0].labels)
    flavors = flavors or {FLAVOR: Flavor(FLAVOR, topology="t")}
    return Topologies(
        flavors, {"t": Topology("t", levels)}, {entry.name: entry for entry in node_objects}, Rules(**rules)
    )


def asks(
    required: str | None = None, preferred: str | None = None, *slices: tuple[str, int], **fields: Any
) -> TopologyRequest:
    constraints = tuple(SliceConstraint(level, size) for level, size in slices)
    return TopologyRequest(required, preferred, slices=constraints, **fields)


ANYWHERE = asks(unconstrained=True)


def pods(
    count: int, topology: TopologyRequest | None, gpus: int = 1, name: str = "main", **fields: Any
) -> PlacementRequest:
    given_fields = {
        field: fields.pop(field) for field in ("implied", "current", "previous") if field in fields
    }
    return PlacementRequest(
        PodSet(name, count, {GPU: gpus}, topology=topology, **fields), count, **given_fields
    )


def placed(text: str, levels: tuple[str, ...] = (HOST,)) -> TopologyAssignment:
    parts = (part.rpartition(":") for part in text.split())
    domains = tuple(TopologyDomain(tuple(path.split("/")), int(count)) for path, _, count in parts)
    return TopologyAssignment(levels, domains)


def gang(text: str, gpus: int = 1, levels: tuple[str, ...] = (HOST,), flavor: str = FLAVOR) -> TopologyUsage:
    return TopologyUsage(flavor, placed(text, levels), {GPU: gpus})


def assigned_domains(assignment: TopologyAssignment) -> str:
    return " ".join(f"{'/'.join(domain.values)}:{domain.count}" for domain in assignment.domains)


def answer(placements: Placements) -> dict[str, str]:
    """The domains of each pod set, or the reason why it has none."""
    refusal = placements.refusal
    if refusal is not None:
        return dict.fromkeys(refusal.pod_sets, refusal.message)
    return {name: assigned_domains(assignment) for name, assignment in placements.assignments.items()}


def place(topologies: Topologies, *requests: PlacementRequest, **how: Any) -> dict[str, str]:
    return answer(topologies.place({FLAVOR: requests}, **how))


def place_one(topologies: Topologies, request: PlacementRequest, **how: Any) -> str:
    return place(topologies, request, **how)[request.pod_set.name]
