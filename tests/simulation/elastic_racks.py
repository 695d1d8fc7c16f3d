"""Gangs that Ray's autoscaler scales on nodes with racks."""

from collections import Counter
from typing import Any

from muster.admission import HOSTNAME
from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.objects.names import PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY
from tests.simulation import racks
from tests.simulation.api import Body
from tests.simulation.elastic_gangs import elastic, platform
from tests.simulation.simulation import Simulation

REQUIRED, PREFERRED = {REQUIRED_TOPOLOGY: "rack"}, {PREFERRED_TOPOLOGY: "rack"}


def racks_platform() -> dict[Kind[Any], list[Body]]:
    """Returns a queue with quota for all GPUs: two racks of two nodes with two GPUs each."""
    racked = racks.stack(check=False)
    nodes = {kind: racked[kind] for kind in (kinds.FLAVORS, kinds.TOPOLOGIES, kinds.NODES)}
    return {**platform(8), **nodes}


def elastic_near(name: str, annotations: dict[str, str], **sizes: int) -> Body:
    """Returns a RayJob whose workers are scaled and request a topology."""
    body = elastic(name, **sizes)
    (workers,) = body["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    metadata = {**workers["template"].get("metadata", {}), "annotations": annotations}
    workers["template"] = {**workers["template"], "metadata": metadata}
    return body


def pods_by_host(sim: Simulation) -> Counter[str]:
    """Returns the workers that hold a place on each host: all that exist, and whose gate is open."""
    return Counter(
        pod["spec"]["nodeSelector"][HOSTNAME]
        for pod in sim.api.all(kinds.PODS)
        if HOSTNAME in pod["spec"].get("nodeSelector", {})
    )


def assigned_by_host(sim: Simulation, job: str) -> Counter[str]:
    """Returns the workers that the admission assigns to each host."""
    assigned = racks.status(sim, job)["admission"]["podSetAssignments"]
    (topology,) = [a["topologyAssignment"] for a in assigned if "topologyAssignment" in a]
    pods: Counter[str] = Counter()
    for part in topology["slices"]:
        (values,), counts = part["valuesPerLevel"], part["podCounts"]
        names = (
            [values["universal"]] * part["domainCount"]
            if "universal" in values
            else [
                f"{values['individual'].get('prefix', '')}{root}{values['individual'].get('suffix', '')}"
                for root in values["individual"]["roots"]
            ]
        )
        each = [counts["universal"]] * len(names) if "universal" in counts else counts["individual"]
        pods.update(dict(zip(names, each, strict=True)))
    return pods
