"""Builders of configurations and jobs for tests of forecasts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from muster.admission import HOSTNAME, TopologyRequest
from muster.forecast.assumptions import Assumptions
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.placement import PlacedJob, place
from muster.forecast.queue_objects import from_manifests, parse_controller
from muster.forecast.results.outcome import End, SimulationOutcome
from muster.forecast.simulation.simulator import Simulator
from muster.forecast.traces.trace import SizeDemand, TraceElastic, TraceGroup, TraceJob

GPU = "nvidia.com/gpu"
VERSION = "kueue.x-k8s.io/v1beta2"
AT_ONCE = Assumptions(start_up_s=0, termination_s=0, cleanup_s=0)
"""Assumptions under which only queues make jobs wait."""


def flavor(name: str = "h100") -> dict[str, Any]:
    return {"apiVersion": VERSION, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": {}}


def queue(name: str, gpus: int | str, flavor: str = "h100", **spec: Any) -> dict[str, Any]:
    quotas = [{"name": flavor, "resources": [{"name": GPU, "nominalQuota": str(gpus)}]}]
    groups = [{"coveredResources": [GPU], "flavors": quotas}]
    spec = {"namespaceSelector": {}, "resourceGroups": groups, **spec}
    return {"apiVersion": VERSION, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}


def with_flavors(*queues: dict[str, Any]) -> dict[str, Any]:
    """The first queue, with the flavors of all."""
    (group, *_) = queues[0]["spec"]["resourceGroups"]
    flavors = [entry for of in queues for entry in of["spec"]["resourceGroups"][0]["flavors"]]
    return {**queues[0], "spec": {**queues[0]["spec"], "resourceGroups": [{**group, "flavors": flavors}]}}


def racks() -> list[dict[str, Any]]:
    """Flavor `racks`, and its topology of racks and nodes."""
    spec = {"nodeLabels": {"pool": "racks"}, "topologyName": "by-rack"}
    levels = [{"nodeLabel": "rack"}, {"nodeLabel": HOSTNAME}]
    topology = {"apiVersion": VERSION, "kind": "Topology", "metadata": {"name": "by-rack"}}
    return [flavor("racks") | {"spec": spec}, topology | {"spec": {"levels": levels}}]


def node(name: str, gpus: int = 4, **spec: Any) -> dict[str, Any]:
    """A node of flavor `racks`, in the rack of the first two letters of its name."""
    labels = {"pool": "racks", "rack": name[:2], HOSTNAME: name}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"allocatable": {GPU: str(gpus), "pods": "110"}},
    }


def with_budget(manifest: dict[str, Any], hours: int, **fields: Any) -> dict[str, Any]:
    """Adds a budget of GPU hours, by default per day."""
    budget = json.dumps([{"resource": GPU, "hours": hours, "period": "day"} | fields])
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": {"muster.dev/budgets": budget}}}


def priority(name: str, value: int) -> dict[str, Any]:
    return {
        "apiVersion": VERSION,
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


def provisioned(**retry: int) -> list[dict[str, Any]]:
    """An admission check of ProvisioningRequests, named `capacity`."""
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "capacity"}
    spec = {"controllerName": "kueue.x-k8s.io/provisioning-request", "parameters": parameters}
    config = {"provisioningClassName": "queued-provisioning.gke.io", "retryStrategy": retry}
    return [
        {"apiVersion": VERSION, "kind": "AdmissionCheck", "metadata": {"name": "capacity"}, "spec": spec},
        {
            "apiVersion": VERSION,
            "kind": "ProvisioningRequestConfig",
            "metadata": {"name": "capacity"},
            "spec": config,
        },
    ]


CHECKED: dict[str, Any] = {"admissionChecksStrategy": {"admissionChecks": [{"name": "capacity"}]}}
PREEMPTS: dict[str, Any] = {
    "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
}


def configured(*manifests: Mapping[str, Any], controller: str = "{}") -> QueueConfiguration:
    return from_manifests("test", [flavor(), *manifests], parse_controller("test", controller))


_REQUESTS: dict[int, dict[str, int]] = {}


def job(
    name: str, at_s: float, run_s: float | None, gpus: int = 1, queue: str = "a", pods: int = 1, **more: Any
) -> TraceJob:
    requests = _REQUESTS.setdefault(gpus, {GPU: gpus})
    run_ms = None if run_s is None else round(1000 * run_s)
    return TraceJob(name, round(1000 * at_s), run_ms, pods, requests, queue=queue, **more)


def autoscaled(
    name: str,
    at_s: float,
    run_s: float,
    *demand: tuple[float, int] | tuple[float, int, int],
    least: int = 0,
    most: int = 8,
    limited: bool = False,
    topology: TopologyRequest | None = None,
    **more: Any,
) -> TraceJob:
    """A job of workers with a GPU each; `demand` are the workers that it asks for, and possibly those that it
    had, by seconds after its start."""
    asks = tuple(
        SizeDemand(round(1000 * after_s), workers, limited, *held) for after_s, workers, *held in demand
    )
    group = TraceGroup("gpu", {GPU: 1}, least, most, 1, asks, topology)
    elastic = TraceElastic(0, {}, (group,))
    return replace(job(name, at_s, run_s, gpus=1, pods=least, **more), elastic=elastic)


def cancelled(name: str, at_s: float, after_s: float, **more: Any) -> TraceJob:
    """A job that was cancelled after this time, before it started."""
    return job(name, at_s, None, cancelled_ms=round(1000 * after_s), **more)


def placed(configuration: QueueConfiguration, jobs: Sequence[TraceJob]) -> Sequence[PlacedJob]:
    placement = place(jobs, configuration)
    assert not placement.left_out
    return placement.jobs


def simulated(
    configuration: QueueConfiguration,
    *jobs: TraceJob,
    assumptions: Assumptions = AT_ONCE,
    seed: int = 0,
) -> SimulationOutcome:
    return Simulator(configuration, placed(configuration, jobs), assumptions, seed).run()


def attempts(outcome: SimulationOutcome) -> list[str]:
    """Every attempt, as `name reserved-started-ended end`, in seconds."""
    rows = outcome.attempts
    return [
        f"{outcome.jobs[rows.job[i]].name} {rows.reserved_ms[i] / 1000:g}-"
        f"{rows.started_ms[i] / 1000 if rows.started_ms[i] >= 0 else 'never'}-"
        f"{rows.ended_ms[i] / 1000:g} {End(rows.end[i]).name}".replace(".0-", "-")
        for i in range(len(rows.job))
    ]
