"""Small scenarios, their objects and Kueue's assumed outcome, for tests of the comparison."""

from collections.abc import Mapping
from typing import Any

from muster.objects import kueue, kueue_queues
from tests.conformance.differential.clusters import manifest
from tests.conformance.differential.core_side import Objects
from tests.conformance.differential.found import Found
from tests.conformance.differential.outcome import Outcome
from tests.conformance.differential.scenario import CLASSICAL, Manifest, Scenario, Step, Submit
from tests.conformance.objects import view, views

NAMESPACE = "ns"


def workload(name: str, cpu: str = "1", queue: str = "l0", pod_sets: int = 1) -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    template = {"spec": {"containers": [container]}}
    names = ("main", *(f"p{n}" for n in range(1, pod_sets)))
    pods = [{"name": of, "count": 1, "template": template} for of in names]
    return manifest("Workload", name, {"queueName": queue, "priority": 0, "podSets": pods})


def cluster_queue(name: str, cpu: str, flavors: int = 1) -> dict[str, Any]:
    quota = [{"name": "cpu", "nominalQuota": cpu}]
    quotas = [{"name": f"f{n}", "resources": quota} for n in range(flavors)]
    group = {"coveredResources": ["cpu"], "flavors": quotas}
    return manifest("ClusterQueue", name, {"namespaceSelector": {}, "resourceGroups": [group]})


def objects(cpu: str = "2", flavors: int = 1) -> tuple[Manifest, ...]:
    return (
        manifest("ResourceFlavor", "f0", {}),
        manifest("Cohort", "c0", {}),
        cluster_queue("q0", cpu, flavors),
        manifest("LocalQueue", "l0", {"clusterQueue": "q0"}),
    )


def scenario(*steps: Step, name: str = "one", mode: str = CLASSICAL) -> Scenario:
    return Scenario(name, mode, objects(), steps or (Submit(workload("w0")),))


def as_served(*workloads: Manifest) -> dict[str, kueue.Workload]:
    """Returns them as the API server would."""
    served = (
        {
            **w,
            "metadata": {
                "namespace": NAMESPACE,
                "name": w["metadata"]["name"],
                "uid": w["metadata"]["name"],
                "creationTimestamp": "2026-01-01T00:00:00Z",
            },
        }
        for w in workloads
    )
    return {w.key: w for w in views(served, kueue.Workload)}


def api_objects(cpu: str = "2", flavors: int = 1) -> Objects:
    flavor, cohort, queue, local = objects(cpu, flavors)
    local = {**local, "metadata": {"namespace": NAMESPACE, "name": "l0"}}
    return Objects(
        (view(flavor, kueue_queues.ResourceFlavor),),
        (view(cohort, kueue_queues.Cohort),),
        (view(queue, kueue_queues.ClusterQueue),),
        {f"{NAMESPACE}/l0": view(local, kueue_queues.LocalQueue)},
    )


def found_difference(
    held: Mapping[str, Mapping[str, str]],
    name: str = "one",
    cpu: str = "2",
    pod_sets: int = 1,
    flavors: int = 1,
) -> Found:
    """Returns a step where a workload of one CPU per pod set is in a queue of `cpu`, and Kueue's `held`."""
    workloads = as_served(workload("w0", pod_sets=pod_sets))
    return Found(name, CLASSICAL, api_objects(cpu, flavors), workloads, Outcome(held, {}))
