"""The YAML of Kueue's performance tests: the jobs and the queues that it defines."""

from typing import Any

import msgspec
import pytest

from muster import admission as core
from muster.forecast.traces import kueue_generator
from muster.forecast.traces.trace import TraceError
from muster.objects.kueue_queues import ClusterQueue
from tests.unit.forecast.traces.builders import job

TWO_SETS = """
cohorts:
- className: cohort
  count: 2
  queuesSets:
  - className: cq
    count: 3
    nominalQuota: 20
    borrowingLimit: 100
    reclaimWithinCohort: Any
    withinClusterQueue: LowerPriority
    workloadsSets:
    - count: 2
      creationIntervalMs: 100
      workloads:
      - {className: small, runtimeMs: 200, priority: 50, request: 1}
      - {className: tiny, runtimeMs: 100, priority: 50, request: 500m}
    - count: 1
      creationIntervalMs: 1200
      workloads:
      - {className: large, runtimeMs: 1000, priority: 200, request: "20"}
"""
TOPOLOGY = """
topology:
  name: default-topology
  levels:
  - {name: rack, count: 2, nodeLabel: example.com/rack}
  - {name: node, count: 3, nodeLabel: kubernetes.io/hostname, capacity: {cpu: "4", memory: 8Gi}}
dra: {devicesPerNode: 8}
resourceFlavor: {name: tas-flavor, nodeLabel: tas-node-group, topologyName: default-topology}
cohorts:
- className: cohort
  count: 1
  queuesSets:
  - className: cq
    count: 1
    nominalQuota: "20"
    deviceNominalQuota: "40"
    workloadsSets:
    - count: 1
      workloads:
      - {className: slice, runtimeMs: 200, request: 500m, podCount: 2, devices: 1, tasConstraint: required,
         tasLevel: example.com/rack}
"""
QUEUE = """
- className: cohort
  count: 1
  queuesSets:
  - {className: cq, count: 1, nominalQuota: 1, workloadsSets: [{count: 1, workloads: [%s]}]}
"""
WORKLOAD = "{className: w, runtimeMs: 1, request: 1}"


def of_kind(manifests: tuple[dict[str, Any], ...], kind: str) -> list[dict[str, Any]]:
    return [manifest for manifest in manifests if manifest["kind"] == kind]


def named(manifests: tuple[dict[str, Any], ...], kind: str) -> list[str]:
    return [manifest["metadata"]["name"] for manifest in of_kind(manifests, kind)]


def test_workloads_of_a_set_are_created_one_by_one_and_sets_side_by_side() -> None:
    trace = kueue_generator.read(TWO_SETS, "generator.yaml").trace
    queue = "cq-0-1-cohort-1"
    queued_jobs = [queued_jobs for queued_jobs in trace.jobs if queued_jobs.queue == queue]
    small: dict[str, Any] = {"requests": {"cpu": 1_000}, "queue": queue, "priority_class": "priority-50"}
    tiny = small | {"requests": {"cpu": 500}}
    large = small | {"requests": {"cpu": 20_000}, "priority_class": "priority-200"}
    # The first workload comes after its set's pause, which is where the trace begins.
    assert queued_jobs == [
        job(f"{queue}/small-0-0-0", 0, 0.2, **small),
        job(f"{queue}/tiny-0-0-1", 0.1, 0.1, **tiny),
        job(f"{queue}/small-0-1-0", 0.2, 0.2, **small),
        job(f"{queue}/tiny-0-1-1", 0.3, 0.1, **tiny),
        job(f"{queue}/large-1-0-0", 1.1, 1, **large),
    ]
    assert len(trace.jobs) == 2 * 3 * 5


def test_queues_are_named_as_in_the_tests() -> None:
    manifests = kueue_generator.read(TWO_SETS, "generator.yaml").manifests
    assert named(manifests, "ResourceFlavor") == ["rf"]
    assert named(manifests, "Cohort") == ["cohort-0", "cohort-1"]
    assert named(manifests, "WorkloadPriorityClass") == ["priority-50", "priority-200"]
    queues = [f"cq-0-{index}-cohort-{cohort}" for cohort in (0, 1) for index in (0, 1, 2)]
    assert named(manifests, "ClusterQueue") == queues
    assert named(manifests, "LocalQueue") == queues


def test_cluster_queue_has_the_quota_and_preemption_of_its_set() -> None:
    manifest = of_kind(kueue_generator.read(TWO_SETS, "generator.yaml").manifests, "ClusterQueue")[4]
    assert manifest == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "cq-0-1-cohort-1"},
        "spec": {
            "cohortName": "cohort-1",
            "namespaceSelector": {},
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
            "resourceGroups": [
                {
                    "coveredResources": ["cpu"],
                    "flavors": [
                        {
                            "name": "rf",
                            "resources": [{"name": "cpu", "nominalQuota": "20", "borrowingLimit": "100"}],
                        }
                    ],
                }
            ],
        },
    }


def test_local_queue_is_in_a_namespace_of_its_own() -> None:
    manifest = of_kind(kueue_generator.read(TWO_SETS, "generator.yaml").manifests, "LocalQueue")[0]
    name = "cq-0-0-cohort-0"
    assert manifest["metadata"] == {"name": name, "namespace": name}
    assert manifest["spec"] == {"clusterQueue": name}


def test_pods_devices_and_topologies_are_read() -> None:
    generated = kueue_generator.read(TOPOLOGY, "generator.yaml")
    (job_of_trace,) = generated.trace.jobs
    assert (job_of_trace.pods, job_of_trace.requests) == (2, {"cpu": 500, "perf.example.com/gpu": 1})
    assert job_of_trace.topology == core.TopologyRequest(required="example.com/rack")
    (queue,) = of_kind(generated.manifests, "ClusterQueue")
    group = msgspec.convert(queue, ClusterQueue).spec.resource_groups[0]
    assert group.covered_resources == ("cpu", "perf.example.com/gpu")
    (flavor,) = of_kind(generated.manifests, "ResourceFlavor")
    assert (flavor["metadata"]["name"], flavor["spec"]) == (
        "tas-flavor",
        {"nodeLabels": {"tas-node-group": "tas"}, "topologyName": "default-topology"},
    )
    (topology,) = of_kind(generated.manifests, "Topology")
    assert topology["spec"] == {
        "levels": [{"nodeLabel": "example.com/rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
    }
    nodes = of_kind(generated.manifests, "Node")
    assert len(nodes) == 6
    assert nodes[-1]["metadata"] == {
        "name": "node-rack-1-node-2",
        "labels": {
            "tas-node-group": "tas",
            "example.com/rack": "rack-1",
            "kubernetes.io/hostname": "node-rack-1-node-2",
        },
    }
    assert nodes[-1]["status"]["allocatable"] == {
        "cpu": "4",
        "memory": "8Gi",
        "pods": "110",
        "perf.example.com/gpu": "8",
    }


REQUESTS = {
    "required": core.TopologyRequest(required="rack"),
    "preferred": core.TopologyRequest(preferred="rack"),
    "balanced": core.TopologyRequest(slices=(core.SliceConstraint("rack", 4),)),
}


@pytest.mark.parametrize("constraint", REQUESTS)
def test_workload_requests_a_topology(constraint: str) -> None:
    template = f"{WORKLOAD[:-1]}, tasLevel: rack, tasConstraint: {constraint}, sliceSize: 4}}"
    (read,) = kueue_generator.read(QUEUE % template, "generator.yaml").trace.jobs
    assert read.topology == REQUESTS[constraint]


def test_older_files_are_a_list_of_cohorts() -> None:
    assert len(kueue_generator.read(QUEUE % WORKLOAD, "generator.yaml").trace.jobs) == 1


BAD_FILES = {
    "no YAML": ("cohorts: [", r"generator\.yaml: while parsing a flow node"),
    "nothing": ("", r"Expected `object \| array`, got `null`; expected cohorts"),
    "no cohorts": ("cohorts: []", r"Expected `array` of length >= 1 - at `\$\.cohorts`"),
    "no run time": (
        QUEUE % "{className: w, request: 1}",
        r"missing required field `runtimeMs` - at `\$\[0",
    ),
    "a negative run time": (QUEUE % "{className: w, request: 1, runtimeMs: -5}", "Expected `int` >= 0 - at"),
    "a request that is no quantity": (
        QUEUE % "{className: w, request: lots, runtimeMs: 1}",
        "'lots' is not a quantity of cpu: expected a number",
    ),
    "a negative request": (
        QUEUE % "{className: w, request: -1, runtimeMs: 1}",
        "-1 is not a quantity of cpu: expected 0 or more",
    ),
    "a quota that is no quantity": (
        (QUEUE % WORKLOAD).replace("nominalQuota: 1", "nominalQuota: plenty"),
        "'plenty' is not a quantity of cpu",
    ),
    "an unknown constraint of a topology": (
        QUEUE % "{className: w, request: 1, runtimeMs: 1, tasLevel: rack, tasConstraint: near}",
        "workload w has tasConstraint 'near'; expected one of: required, preferred, balanced",
    ),
    "more nodes than fit into memory": (
        TOPOLOGY.replace("count: 3,", "count: 50001,"),
        "100,002 nodes; expected at most 100,000",
    ),
    "more workloads than fit into memory": (
        (QUEUE % WORKLOAD)
        .replace("[{count: 1,", "[{count: 9999999,")
        .replace("  count: 1\n", "  count: 2\n", 1),
        r"2 queues and 19,999,998 workloads; expected at most 100,000 and 10,000,000",
    ),
    "more queues than fit into memory": (
        (QUEUE % WORKLOAD).replace("cq, count: 1,", "cq, count: 100001,"),
        "100,001 queues and 100,001 workloads",
    ),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_generator_file_is_refused(name: str) -> None:
    text, expected = BAD_FILES[name]
    with pytest.raises(TraceError, match=expected):
        kueue_generator.read(text, "generator.yaml")
