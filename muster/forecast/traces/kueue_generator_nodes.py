"""Converts the topologies of Kueue's performance tests: Topology and Nodes as manifests, and the requests of
workloads.

Source: Kueue test/performance/scheduler/runner/generator, topology_generator.go and generator.go.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from muster import admission as core
from muster.forecast.traces.kueue_generator_schema import Generator, TopologyLevel, WorkloadTemplate
from muster.forecast.traces.trace import TraceError
from muster.objects.names import KUEUE_API

DEVICES = "perf.example.com/gpu"  # the resource of the tests' DeviceClass
NODE_LABEL_VALUE = "tas"
PODS_PER_NODE = 110

CONSTRAINTS = ("required", "preferred", "balanced")


def topology_manifests(generator: Generator) -> Iterator[dict[str, Any]]:
    """Yields the Topology and its nodes; nothing without a topology."""
    topology, flavor = generator.topology, generator.resource_flavor
    if topology is None or not topology.levels:
        return
    levels = [{"nodeLabel": level.node_label} for level in topology.levels]
    yield {
        "apiVersion": KUEUE_API,
        "kind": "Topology",
        "metadata": {"name": topology.name},
        "spec": {"levels": levels},
    }
    capacity = topology.levels[-1].capacity
    allocatable = {"cpu": str(capacity.cpu), "memory": str(capacity.memory), "pods": str(PODS_PER_NODE)}
    if generator.dra.devices_per_node:
        allocatable[DEVICES] = str(generator.dra.devices_per_node)
    own = {flavor.node_label: NODE_LABEL_VALUE} if flavor.node_label else {}
    for name, labels in _domains(topology.levels):
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": own | labels},
            "status": {"allocatable": allocatable},
        }


def _domains(levels: Sequence[TopologyLevel]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yields the name and labels of each node; the hostname is its name, as it must be unique."""
    for indices in product(*(range(level.count) for level in levels)):
        values = [f"{level.name}-{index}" for level, index in zip(levels, indices, strict=True)]
        name = "-".join(("node", *values))
        keys = (level.node_label for level in levels)
        yield name, dict(zip(keys, values, strict=True)) | {core.HOSTNAME: name}


def topology_request(template: WorkloadTemplate, source: str) -> core.TopologyRequest | None:
    """Returns the topology request of a workload; None without one. Raises: TraceError."""
    level = template.tas_level
    if not level:
        return None
    match template.tas_constraint:
        case "required":
            return core.TopologyRequest(required=level)
        case "preferred":
            return core.TopologyRequest(preferred=level)
        case "balanced":
            return core.TopologyRequest(slices=(core.SliceConstraint(level, template.slice_size),))
    raise TraceError(
        f"{source}: workload {template.class_name} has tasConstraint {template.tas_constraint!r}; expected "
        f"one of: {', '.join(CONSTRAINTS)}"
    )
