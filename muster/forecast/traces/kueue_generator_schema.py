"""The schema of Kueue's performance tests: cohorts, queues and the workloads to create in them.

Source: Kueue test/performance/scheduler, configs/*/generator.yaml and runner/generator. Older files only
contain the list of cohorts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Annotated, cast

import msgspec

from muster.forecast.traces import yaml_text
from muster.forecast.traces.trace import TraceError
from muster.forecast.traces.values import TIME_MAX_MS
from muster.objects.kueue import PODS_MAX
from muster.objects.meta import View

JOBS_MAX = 10_000_000
QUEUES_MAX = 100_000
NODES_MAX = 100_000

Count = Annotated[int, msgspec.Meta(ge=0, le=JOBS_MAX)]
Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=TIME_MAX_MS // JOBS_MAX)]
Quantity = str | int | float


class WorkloadTemplate(View):
    """A workload that each WorkloadsSet creates repeatedly."""

    class_name: str
    runtime_ms: Milliseconds
    request: Quantity
    priority: Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)] = 0
    pod_count: Annotated[int, msgspec.Meta(ge=0, le=PODS_MAX)] = 0
    tas_level: str = ""
    tas_constraint: str = ""
    slice_size: Annotated[int, msgspec.Meta(ge=0, le=PODS_MAX)] = 0
    devices: Count = 0


class WorkloadsSet(View):
    """Workloads that are created at a fixed interval in each queue of a set."""

    count: Count
    creation_interval_ms: Milliseconds = 0
    workloads: tuple[WorkloadTemplate, ...] = ()


class QueuesSet(View):
    """ClusterQueues with the same quotas and workloads."""

    class_name: str
    count: Count
    nominal_quota: Quantity
    borrowing_limit: Quantity = ""
    device_nominal_quota: Quantity = ""
    device_borrowing_limit: Quantity = ""
    reclaim_within_cohort: str = "Never"
    within_cluster_queue: str = "Never"
    workloads_sets: tuple[WorkloadsSet, ...] = ()


class CohortSet(View):
    """Cohorts with the same sets of queues."""

    class_name: str
    count: Count
    queues_sets: tuple[QueuesSet, ...] = ()


class Flavor(View):
    """The flavor of all quotas, the label of its nodes, and its topology."""

    name: str = "rf"
    node_label: str = ""
    topology_name: str = ""


class NodeCapacity(View):
    """The capacity of a node."""

    cpu: Quantity = 96
    memory: Quantity = "256Gi"


class TopologyLevel(View):
    """A level with its number of domains in each domain above; those of the lowest level are nodes."""

    name: str
    count: Annotated[int, msgspec.Meta(ge=1, le=NODES_MAX)]
    node_label: str
    capacity: NodeCapacity = NodeCapacity()


class GeneratedTopology(View):
    """A Topology, and all nodes of the cluster."""

    name: str
    levels: tuple[TopologyLevel, ...] = ()


class Devices(View):
    """Devices that pods claim by dynamic resource allocation."""

    devices_per_node: Count = 0


class Generator(View):
    """The root of the generator's configuration."""

    cohorts: Annotated[tuple[CohortSet, ...], msgspec.Meta(min_length=1)]
    resource_flavor: Flavor = Flavor()
    topology: GeneratedTopology | None = None
    dra: Devices = Devices()


@dataclass(frozen=True, slots=True)
class Queue:
    """One ClusterQueue of the file."""

    name: str
    cohort: str
    set: QueuesSet


def decoded(text: str, source: str) -> Generator:
    """Parses a file. Raises: TraceError."""
    content = yaml_text.decode(
        text,
        cast("type[Generator | tuple[CohortSet, ...]]", Generator | tuple[CohortSet, ...]),
        source,
        "expected cohorts → queuesSets → workloadsSets → workloads, as in Kueue's "
        "test/performance/scheduler/configs/baseline/generator.yaml",
    )
    generator = content if isinstance(content, Generator) else Generator(cohorts=content)
    _check_size(generator, source)
    _check_levels(generator, source)
    return generator


def _check_size(generator: Generator, source: str) -> None:
    sets = [
        (cohorts.count * queues.count, queues)
        for cohorts in generator.cohorts
        for queues in cohorts.queues_sets
    ]
    queues = sum(count for count, _ in sets)
    jobs = sum(count * s.count * len(s.workloads) for count, queues in sets for s in queues.workloads_sets)
    if queues > QUEUES_MAX or jobs > JOBS_MAX:
        raise TraceError(
            f"{source}: {queues:,} queues and {jobs:,} workloads; "
            f"expected at most {QUEUES_MAX:,} and {JOBS_MAX:,}"
        )


def _check_levels(generator: Generator, source: str) -> None:
    levels = generator.topology.levels if generator.topology else ()
    nodes = prod(level.count for level in levels)
    if nodes > NODES_MAX:
        raise TraceError(f"{source}: {nodes:,} nodes; expected at most {NODES_MAX:,}")


def queues_of(generator: Generator) -> Iterator[Queue]:
    """Yields the queues of the file, with the names that the tests give them."""
    for cohorts in generator.cohorts:
        for cohort_index in range(cohorts.count):
            cohort = f"{cohorts.class_name}-{cohort_index}"
            for set_index, queues in enumerate(cohorts.queues_sets):
                for index in range(queues.count):
                    yield Queue(f"{queues.class_name}-{set_index}-{index}-{cohort}", cohort, queues)
