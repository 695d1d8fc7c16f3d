"""Reads the YAML of Kueue's performance tests, which defines both jobs and queues.

The workloads of a set are created one by one, with a pause before each; all sets start at the same time. A
job's queue is named after its namespace and its ClusterQueue.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.admission import QuantityError, quantities
from muster.forecast.traces.kueue_generator_nodes import DEVICES, topology_request
from muster.forecast.traces.kueue_generator_queues import manifests_of, priority_class
from muster.forecast.traces.kueue_generator_schema import (
    Queue,
    WorkloadTemplate,
    decoded,
    queues_of,
)
from muster.forecast.traces.rows import Rows
from muster.forecast.traces.trace import Trace, TraceError, TraceJob


@dataclass(frozen=True, slots=True)
class Generated:
    """The jobs of a file, and its queues as manifests of Kueue's API."""

    trace: Trace
    manifests: tuple[dict[str, Any], ...]


def read(text: str, source: str) -> Generated:
    """Returns the jobs and queues of a file. Raises: TraceError."""
    generator = decoded(text, source)
    queues = list(queues_of(generator))
    rows = Rows(source)
    try:
        for queue in queues:
            _add_jobs(queue, rows)
        manifests = tuple(manifests_of(generator, queues))
    except QuantityError as problem:
        raise TraceError(f"{source}: {problem}") from problem
    return Generated(rows.trace(), manifests)


def _add_jobs(queue: Queue, rows: Rows) -> None:
    for set_index, workloads in enumerate(queue.set.workloads_sets):
        requests = [_requests(template) for template in workloads.workloads]
        topologies = [topology_request(template, rows.source) for template in workloads.workloads]
        submit_ms = 0
        for repetition in range(workloads.count):
            for index, template in enumerate(workloads.workloads):
                submit_ms += workloads.creation_interval_ms
                name = f"{queue.name}/{template.class_name}-{set_index}-{repetition}-{index}"
                job = TraceJob(
                    name,
                    submit_ms,
                    template.runtime_ms,
                    template.pod_count or 1,
                    requests[index],
                    queue.name,
                    priority_class(template.priority),
                    topology=topologies[index],
                )
                rows.jobs.append(job)


def _requests(template: WorkloadTemplate) -> Mapping[str, int]:
    units = quantities.parse(quantities.CPU, template.request)
    if units < 0:
        raise QuantityError(quantities.CPU, template.request, "0 or more")
    requests = {quantities.CPU: units, DEVICES: template.devices}
    return {resource: units for resource, units in requests.items() if units}
