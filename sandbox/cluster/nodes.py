"""Simulated nodes, shaped like those of a GKE node pool."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from settings.model.pools.gpus import GPU_RESOURCE
from settings.model.pools.pool import Pool

KWOK_ANNOTATION = "kwok.x-k8s.io/node"


def node(
    name: str,
    labels: Mapping[str, str],
    taints: Sequence[Mapping[str, str]],
    capacity: Mapping[str, str],
) -> dict[str, Any]:
    """A Node that kwok makes Ready.

    `taints` as in the Kubernetes API (key, value, effect), `capacity` as quantities by resource name;
    allocatable equals capacity, what GKE reserves for itself on a node is left out.
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
                "kubernetes.io/hostname": name,
                **labels,
            },
        },
        "spec": {"taints": [dict(taint) for taint in taints]},
        "status": {"capacity": dict(capacity), "allocatable": dict(capacity)},
    }


def standing_nodes(pools: Iterable[Pool]) -> list[dict[str, Any]]:
    """The nodes of the pools that are not queued, as many as each pool may have.

    No autoscaler is simulated for those; nodes of queued pools come and go with ProvisioningRequests.
    """
    return [
        node(
            f"gke-{pool.name}-{index}",
            {**pool.node_labels, **_discovered(pool.capacity)},
            [taint._asdict() for taint in pool.node_taints],
            pool.capacity,
        )
        for pool in pools
        if not pool.queued
        for index in range(pool.nodes_max)
    ]


def _discovered(capacity: Mapping[str, str]) -> dict[str, str]:
    """The label of NVIDIA's feature discovery by which KAI counts a node's GPUs."""
    return {"nvidia.com/gpu.count": capacity[GPU_RESOURCE]} if GPU_RESOURCE in capacity else {}
