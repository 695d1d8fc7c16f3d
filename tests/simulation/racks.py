"""A cluster whose nodes have racks."""

from typing import Any

from muster.admission import HOSTNAME
from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.objects.names import REQUIRED_TOPOLOGY
from tests.simulation.api import Body
from tests.simulation.manifests import GPU, flavor, local_stack, ray_job
from tests.simulation.simulation import Simulation

RACKS: Body = {
    "metadata": {"name": "racks"},
    "spec": {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": HOSTNAME}]},
}


def stack(*, check: bool) -> dict[Kind[Any], list[Body]]:
    """Returns stack local with GPU nodes in two racks of two nodes with two GPUs each."""
    l4 = flavor("l4")
    l4["spec"]["topologyName"] = "racks"
    return {
        **local_stack(check=check),
        kinds.FLAVORS: [flavor("cpu"), l4],
        kinds.TOPOLOGIES: [RACKS],
        kinds.NODES: [node(name) for name in ("r1-a", "r1-b", "r2-a", "r2-b")],
    }


def node(name: str) -> Body:
    labels = {HOSTNAME: name, "rack": name[:2], "cloud.google.com/gke-nodepool": "l4"}
    return {"metadata": {"name": name, "labels": labels}}


def make_ready(sim: Simulation) -> None:
    for node in sim.api.all(kinds.NODES):
        status = {
            "allocatable": {GPU: "2", "cpu": "64", "memory": "256Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        sim.api.merge_patch(kinds.NODES, node["metadata"]["name"], {"status": status}, "kubelet", True)


def status(sim: Simulation, key: str) -> Body:
    workload = sim.workload(key)
    assert workload is not None
    own_status: Body = workload.get("status", {})
    return own_status


def near(name: str, *, seconds: float = 20) -> Body:
    """Returns a gang whose workers need one rack."""
    body = ray_job(name, seconds=seconds)
    (workers,) = body["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    metadata = {**workers["template"].get("metadata", {}), "annotations": {REQUIRED_TOPOLOGY: "rack"}}
    workers["template"] = {**workers["template"], "metadata": metadata}
    return body


def hosts(sim: Simulation, key: str) -> list[str]:
    """Returns the nodes for the workers."""
    (workers,) = sim.job(key)["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    of_nodes = workers["template"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = of_nodes["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return [value for expression in term["matchExpressions"] for value in expression["values"]]
