"""Small scenarios, what stood in them and what Kueue is to have done, for the tests of the comparison."""

from collections.abc import Mapping
from typing import Any

from muster.objects import kueue
from tests.conformance.differential.clusters import manifest
from tests.conformance.differential.core_side import Objects
from tests.conformance.differential.found import Found
from tests.conformance.differential.outcome import Outcome
from tests.conformance.differential.scenario import CLASSICAL, Manifest, Scenario, Step, Submit
from tests.conformance.objects import view, views

NAMESPACE = "ns"


def workload(name: str, cpu: str = "1", queue: str = "l0") -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
    return manifest("Workload", name, {"queueName": queue, "priority": 0, "podSets": [pods]})


def cluster_queue(name: str, cpu: str) -> dict[str, Any]:
    quota = {"name": "f0", "resources": [{"name": "cpu", "nominalQuota": cpu}]}
    group = {"coveredResources": ["cpu"], "flavors": [quota]}
    return manifest("ClusterQueue", name, {"namespaceSelector": {}, "resourceGroups": [group]})


def objects(cpu: str = "2") -> tuple[Manifest, ...]:
    return (
        manifest("ResourceFlavor", "f0", {}),
        manifest("Cohort", "c0", {}),
        cluster_queue("q0", cpu),
        manifest("LocalQueue", "l0", {"clusterQueue": "q0"}),
    )


def scenario(*steps: Step, name: str = "one", mode: str = CLASSICAL) -> Scenario:
    return Scenario(name, mode, objects(), steps or (Submit(workload("w0")),))


def standing(*workloads: Manifest) -> dict[str, kueue.Workload]:
    """As the API server has them."""
    made = (
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
    return {w.key: w for w in views(made, kueue.Workload)}


def api_objects(cpu: str = "2") -> Objects:
    flavor, cohort, queue, local = objects(cpu)
    local = {**local, "metadata": {"namespace": NAMESPACE, "name": "l0"}}
    return Objects(
        (view(flavor, kueue.ResourceFlavor),),
        (view(cohort, kueue.Cohort),),
        (view(queue, kueue.ClusterQueue),),
        {f"{NAMESPACE}/l0": view(local, kueue.LocalQueue)},
    )


def found(held: Mapping[str, Mapping[str, str]], name: str = "one", cpu: str = "2") -> Found:
    """A workload of one CPU has come to a queue of `cpu`, and Kueue left these with quota."""
    return Found(name, CLASSICAL, api_objects(cpu), standing(workload("w0")), Outcome(held, {}))
