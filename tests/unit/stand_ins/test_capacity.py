"""Nodes of a request, and requests that queued provisioning refuses."""

from decimal import Decimal
from typing import Any

import pytest

from sandbox.stand_ins.capacity import CannotServeError, NodeShape, PodSet, need, pod_requests

GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
QUEUED_TAINT = {"key": "cloud.google.com/gke-queued", "value": "true", "effect": "NoSchedule"}
LIMITS = {"cpu": "500m", "memory": "1Gi"}
SIDECAR = {"restartPolicy": "Always"}
TOLERATES_ALL = [{"operator": "Exists"}]


def shape(pool: str = "l4", gpus: int = 1) -> NodeShape:
    capacity = {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": str(gpus), "pods": "110"}
    labels = {"cloud.google.com/gke-nodepool": pool}
    return NodeShape(pool, labels, (GPU_TAINT, QUEUED_TAINT), capacity, nodes_max=10)


def pods(count: int, gpus: int = 1, cpu: str = "2", **spec: Any) -> PodSet:
    requests = {"cpu": cpu, "memory": "4Gi", "nvidia.com/gpu": str(gpus)}
    container = {"resources": {"requests": {k: v for k, v in requests.items() if v != "0"}}}
    return PodSet({"spec": {"containers": [container], "tolerations": TOLERATES_ALL, **spec}}, count)


@pytest.mark.parametrize(
    ("pod_set", "shapes", "pool", "nodes"),
    [
        pytest.param(pods(4), [shape()], "l4", 4, id="one GPU per node: one node per pod"),
        pytest.param(pods(5), [shape(gpus=2)], "l4", 3, id="two GPUs per node: rounded up"),
        pytest.param(pods(4, cpu="8"), [shape(gpus=4)], "l4", 4, id="CPU is scarcer than GPUs"),
        pytest.param(pods(2, cpu="3500m"), [shape(gpus=4)], "l4", 1, id="quantities with units"),
        pytest.param(
            pods(1, nodeSelector={"cloud.google.com/gke-nodepool": "b"}),
            [shape("a"), shape("b")],
            "b",
            1,
            id="the node selector selects the pool",
        ),
        pytest.param(
            pods(1, nodeSelector={"autoscaling.gke.io/provisioning-request": "old"}),
            [shape()],
            "l4",
            1,
            id="an earlier attempt's label is ignored",
        ),
        pytest.param(pods(1, gpus=4), [shape("small"), shape("big", 8)], "big", 1, id="first pool that fits"),
        pytest.param(
            pods(1, tolerations=[{"key": t["key"], "operator": "Exists"} for t in (GPU_TAINT, QUEUED_TAINT)]),
            [shape()],
            "l4",
            1,
            id="each taint tolerated by key",
        ),
    ],
)
def test_request_takes_the_fewest_nodes_of_the_first_fitting_pool(
    pod_set: PodSet, shapes: list[NodeShape], pool: str, nodes: int
) -> None:
    nodes_needed = need([pod_set], shapes)
    assert (nodes_needed.shape.pool, nodes_needed.nodes) == (pool, nodes)


@pytest.mark.parametrize(
    ("pod_sets", "says"),
    [
        pytest.param(
            [pods(1), pods(1)], "one pod set per request, but this request has 2", id="two pod sets"
        ),
        pytest.param([pods(1, gpus=0)], "serves only accelerators", id="CPU only"),
        pytest.param([pods(1, gpus=2)], "larger than a node", id="larger than a machine"),
        pytest.param([pods(1, tolerations=[])], "taints that the pods tolerate", id="taints not tolerated"),
        pytest.param(
            [pods(1, tolerations=[{"key": "nvidia.com/gpu", "value": "other"}])],
            "taints that the pods tolerate",
            id="another value tolerated",
        ),
        pytest.param(
            [pods(1, nodeSelector={"zone": "x"})], "no queued pool has the labels", id="unknown label"
        ),
    ],
)
def test_request_that_cannot_be_served_is_an_error(pod_sets: list[PodSet], says: str) -> None:
    with pytest.raises(CannotServeError, match=says):
        need(pod_sets, [shape()])


def container(**requests: str) -> dict[str, Any]:
    return {"resources": {"requests": requests}}


@pytest.mark.parametrize(
    ("spec", "requests"),
    [
        pytest.param(
            {
                "containers": [container(cpu="1"), {"resources": {"limits": LIMITS}}],
                "initContainers": [container(cpu="2"), container(memory="1Mi")],
            },
            {"cpu": 2, "memory": 2**30},
            id="the larger of containers and init containers",
        ),
        pytest.param(
            {"containers": [container(cpu="1")], "initContainers": [{**container(cpu="250m"), **SIDECAR}]},
            {"cpu": Decimal("1.25")},
            id="sidecars run next to the containers",
        ),
        pytest.param(
            {"containers": [container(cpu="1")], **container(cpu="3")}, {"cpu": 3}, id="of the pod itself"
        ),
    ],
)
def test_pods_are_counted_as_the_controller_does(spec: dict[str, Any], requests: dict[str, Any]) -> None:
    assert pod_requests(spec) == requests
