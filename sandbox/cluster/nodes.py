"""Simulated nodes, like the nodes of a GKE node pool."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from settings.model.pools.gpus import GPU_RESOURCE
from settings.model.pools.pool import Pool

KWOK_ANNOTATION = "kwok.x-k8s.io/node"
HOSTNAME = "kubernetes.io/hostname"
KUBERNETES_LABELS = "beta.kubernetes.io/"
KUBERNETES_TAINTS = "node.kubernetes.io/"


def node(
    name: str,
    labels: Mapping[str, str],
    taints: Sequence[Mapping[str, str]],
    capacity: Mapping[str, str],
) -> dict[str, Any]:
    """Returns a Node that kwok makes Ready.

    `taints` as in the Kubernetes API (key, value, effect), `capacity` as quantities by resource name;
    allocatable equals capacity, without GKE's reservations.
    """
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {KWOK_ANNOTATION: "fake"},
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/os": "linux",
                HOSTNAME: name,
                **labels,
            },
        },
        "spec": {"taints": [dict(taint) for taint in taints]},
        "status": {"capacity": dict(capacity), "allocatable": dict(capacity)},
    }


def static_nodes(pools: Iterable[Pool]) -> list[dict[str, Any]]:
    """Returns the nodes of pools that are not queued, as many as each pool may have.

    No autoscaler is simulated for these; nodes of queued pools are created by ProvisioningRequests.
    """
    return [
        node(
            f"gke-{pool.name}-{index}",
            {
                **pool.node_labels,
                **_discovered(pool.capacity),
                **level_labels(f"gke-{pool.name}-{index}", pool.topology),
            },
            [taint._asdict() for taint in pool.node_taints],
            pool.capacity,
        )
        for pool in pools
        if not pool.queued
        for index in range(pool.nodes_max)
    ]


def level_labels(name: str, levels: Sequence[str]) -> dict[str, str]:
    """Returns a node's labels of the levels above it: two nodes share the lowest level, four the next, …

    The node's number is the last part of its name; nodes with different prefixes share no level.
    """
    above = [level for level in levels if level != HOSTNAME]
    group, _, number = name.rpartition("-")
    return {level: f"{group}-{int(number) >> len(above) - place}" for place, level in enumerate(above)}


@dataclass(frozen=True)
class NodeChanges:
    """Changes that bring static nodes in line with the pools.

    create, update: complete nodes; an update keeps the node and its pods. delete: names of nodes without
    pods. keep: the pods of each node that is deleted once they have ended.
    """

    create: Sequence[dict[str, Any]] = ()
    update: Sequence[dict[str, Any]] = ()
    delete: Sequence[str] = ()
    keep: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.create or self.update or self.delete or self.keep)

    def __str__(self) -> str:
        counted = {
            "created": self.create,
            "updated": self.update,
            "deleted": self.delete,
        }
        parts = [f"{len(nodes)} {what}" for what, nodes in counted.items() if nodes]
        for node, pods in self.keep.items():
            parts.append(f"{node} cordoned until its pods have ended, then apply again: {', '.join(pods)}")
        return ", ".join(parts) or "unchanged"


def surplus(live: Iterable[Mapping[str, Any]], declared: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns the names of the cluster's static nodes that no pool declares."""
    return sorted({n["metadata"]["name"] for n in live} - {n["metadata"]["name"] for n in declared})


def node_changes(
    live_nodes: Sequence[Mapping[str, Any]],
    pool_nodes: Sequence[dict[str, Any]],
    pods_on: Mapping[str, Sequence[str]],
) -> NodeChanges:
    """Compares the cluster's static nodes with the nodes of the pools; `pods_on` names the pods by node."""
    live = {node["metadata"]["name"]: node for node in live_nodes}
    declared = {node["metadata"]["name"]: node for node in pool_nodes}
    removed = surplus(live_nodes, pool_nodes)
    return NodeChanges(
        create=[node for name, node in declared.items() if name not in live],
        update=[
            updated(live[name], node)
            for name, node in declared.items()
            if name in live and _differs(live[name], node)
        ],
        delete=[name for name in removed if not pods_on.get(name)],
        keep={name: pods_on[name] for name in removed if pods_on.get(name)},
    )


def updated(live: Mapping[str, Any], declared: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a live node with the labels, taints and status of its pool, which keeps Kubernetes' own."""
    labels = {k: v for k, v in live["metadata"].get("labels", {}).items() if k.startswith(KUBERNETES_LABELS)}
    taints = [t for t in live["spec"].get("taints", ()) if t["key"].startswith(KUBERNETES_TAINTS)]
    metadata = {**live["metadata"], "labels": {**labels, **declared["metadata"]["labels"]}}
    metadata.pop("resourceVersion", None)  # overwrites concurrent changes
    spec = {**live["spec"], "taints": [*taints, *declared["spec"]["taints"]]}
    spec.pop("unschedulable", None)
    return {**live, "metadata": metadata, "spec": spec, "status": {**live["status"], **declared["status"]}}


def _differs(live: Mapping[str, Any], declared: Mapping[str, Any]) -> bool:
    target = updated(live, declared)
    same = target["metadata"]["labels"] == live["metadata"].get("labels", {})
    same = same and target["spec"]["taints"] == live["spec"].get("taints", [])
    return not same or "unschedulable" in live["spec"] or target["status"] != live["status"]


def _discovered(capacity: Mapping[str, str]) -> dict[str, str]:
    """Returns the label of NVIDIA's feature discovery by which KAI counts a node's GPUs."""
    return {"nvidia.com/gpu.count": capacity[GPU_RESOURCE]} if GPU_RESOURCE in capacity else {}
