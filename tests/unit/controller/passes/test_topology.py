"""Gangs with a topology: from annotated templates to pods confined to their nodes."""

from typing import Any

from muster.admission import HOSTNAME
from muster.cluster.jobs.job import StatusReason
from muster.cluster.jobs.templates import admitted_templates
from muster.cluster.queue_problems import queue_problem
from muster.controller.passes.pass_plan import PassPlan
from muster.controller.passes.reconcile import reconcile
from muster.kube import kinds
from muster.kube.writes import Create, MergePatch
from muster.objects import kueue
from muster.objects.names import GROWTH_GATE, REQUIRED_TOPOLOGY, SIZES_ANNOTATION, UNCONSTRAINED_TOPOLOGY
from tests.simulation.manifests import GPU, cluster_queue, flavor, quotas, ray_job
from tests.unit.controller.builders import NOW_MS, Body, make_cluster, read, stored, workload_body

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
RACKS = {"metadata": {"name": "racks"}, "spec": {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": HOSTNAME}]}}


def node(name: str, rack: str = "r1", gpu: int = 2, ready: bool = True) -> Body:
    labels = {"rack": rack, HOSTNAME: name, "cloud.google.com/gke-nodepool": "l4"}
    return {
        "metadata": {"name": name, "labels": labels},
        "status": {
            "allocatable": {GPU: str(gpu), "cpu": "64", "memory": "256Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": str(ready)}],
        },
    }


def near(body: Body) -> Body:
    """A job whose workers require one rack."""
    (workers,) = body["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    metadata = workers["template"].get("metadata", {})
    workers["template"] = {
        **workers["template"],
        "metadata": {**metadata, "annotations": {REQUIRED_TOPOLOGY: "rack"}},
    }
    return body


def job() -> Body:
    return stored({**near(ray_job("dev")), "status": {"jobDeploymentStatus": "Suspended"}})


def objects(*workloads: Body, nodes: tuple[Body, ...] = (node("x1"), node("x2"))) -> dict[Any, list[Body]]:
    l4 = flavor("l4")
    l4["spec"]["topologyName"] = "racks"
    flavors = quotas("cpu", cpu=8, memory="64Gi", gpu=0), quotas("l4", cpu=16, memory="64Gi", gpu=8)
    return {
        kinds.FLAVORS: [flavor("cpu"), l4],
        kinds.CLUSTER_QUEUES: [cluster_queue("team-a", *flavors)],
        kinds.TOPOLOGIES: [RACKS],
        kinds.NODES: list(nodes),
        kinds.RAY_JOBS: [job()],
        kinds.WORKLOADS: list(workloads),
    }


def run(of: dict[Any, list[Body]]) -> PassPlan:
    return reconcile(make_cluster(of), NOW_MS)


def only_status(writes: list[Any]) -> Any:
    (planned,) = writes
    assert isinstance(planned.write, MergePatch)
    return planned.write.body["status"]


def admitted(*hosts: str, **status: Any) -> Body:
    """The job's Workload, with a worker or more on each host."""
    body = workload_body(near(ray_job("dev")), "QuotaReserved", "Admitted")
    placed = {"individual": {"roots": list(hosts)}} if len(hosts) > 1 else {"universal": hosts[0]}
    for assigned in body["status"]["admission"]["podSetAssignments"]:
        if assigned["name"] == "gpu":
            count = assigned["count"] // len(hosts)
            part = {
                "domainCount": len(hosts),
                "valuesPerLevel": [placed],
                "podCounts": {"universal": count},
            }
            assigned["topologyAssignment"] = {"levels": [HOSTNAME], "slices": [part]}
    body["status"].update(status)
    return body


def test_a_workload_has_the_topology_requests_of_its_templates() -> None:
    (planned,) = run(objects()).writes.before_reservations
    assert isinstance(planned.write, Create)
    asked = {ps["name"]: ps.get("topologyRequest") for ps in planned.write.body["spec"]["podSets"]}
    assert asked["gpu"] == {"required": "rack"}
    assert {name: request for name, request in asked.items() if request} == {"gpu": asked["gpu"]}


def test_unreadable_annotations_are_reported_on_the_job() -> None:
    body = near(ray_job("dev"))
    (workers,) = body["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    workers["template"]["metadata"]["annotations"] = {UNCONSTRAINED_TOPOLOGY: "perhaps"}
    of = objects(workload_body(near(ray_job("dev"))))
    of[kinds.RAY_JOBS] = [stored({**body, "status": {"jobDeploymentStatus": "Suspended"}})]
    messages = [c["message"] for c in only_status(run(of).writes.wait_reasons)["conditions"]]
    assert any("expected true or false" in message for message in messages)


def test_the_admission_contains_the_topology_assignment() -> None:
    status = only_status(run(objects(workload_body(near(ray_job("dev"))))).writes.reservations)
    (workers,) = [a for a in status["admission"]["podSetAssignments"] if a["name"] == "gpu"]
    assert workers["topologyAssignment"] == {
        "levels": [HOSTNAME],
        "slices": [
            {
                "domainCount": 2,
                "valuesPerLevel": [{"individual": {"prefix": "x", "roots": ["1", "2"]}}],
                "podCounts": {"universal": 2},
            }
        ],
    }


def test_it_waits_for_nodes_that_other_pods_occupy() -> None:
    used = {
        "metadata": {"name": "other", "namespace": "kube-system"},
        "spec": {
            "nodeName": "x1",
            "containers": [{"name": "c", "resources": {"requests": {GPU: "1"}}}],
        },
        "status": {"phase": "Running"},
    }
    of = {**objects(workload_body(near(ray_job("dev")))), kinds.BOUND_PODS: [used]}
    (reserved,) = [
        c for c in only_status(run(of).writes.wait_reasons)["conditions"] if c["type"] == "QuotaReserved"
    ]
    assert reserved["reason"] == "ExceedsMaxQuota"
    assert "cannot fit its topology: for pod set gpu" in reserved["message"]


def test_its_pods_are_confined_to_their_hosts() -> None:
    workload: kueue.Workload = read(kinds.WORKLOADS, admitted("x1", "x2"))
    templates = admitted_templates(workload, make_cluster(objects()).flavors)
    (term,) = templates["gpu"].spec.affinity["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    assert term == {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": ["x1", "x2"]}]}
    assert not templates["head"].spec.affinity


def test_its_pods_select_a_single_host_by_its_label() -> None:
    workload: kueue.Workload = read(kinds.WORKLOADS, admitted("x1"))
    template = admitted_templates(workload, make_cluster(objects()).flavors)["gpu"]
    assert template.spec.node_selector[HOSTNAME] == "x1"
    assert not template.spec.affinity


def test_pods_of_an_autoscaled_group_are_confined_when_their_gate_is_opened() -> None:
    body = admitted("x1", "x2")
    body["metadata"]["annotations"] = {SIZES_ANNOTATION: '{"gpu": {"minReplicas": 2, "maxReplicas": 4}}'}
    workload: kueue.Workload = read(kinds.WORKLOADS, body)
    template = admitted_templates(workload, make_cluster(objects()).flavors)["gpu"]
    assert not template.spec.affinity
    assert HOSTNAME not in template.spec.node_selector
    assert template.spec.scheduling_gates == ({"name": GROWTH_GATE},)


def test_a_gang_is_evicted_if_its_failed_node_has_no_replacement() -> None:
    lost = admitted("x1", "x2", unhealthyNodes=[{"name": "x1"}])
    status = only_status(run(objects(lost, nodes=(node("x2"),))).writes.before_reservations)
    (evicted,) = [c for c in status["conditions"] if c["type"] == "Evicted"]
    assert (evicted["reason"], evicted["message"]) == (
        "NodeFailures",
        "Workload was evicted as there was no replacement for unhealthy node(s): x1",
    )


def test_a_gang_moves_from_a_failed_node() -> None:
    lost = admitted("x1", "x2", unhealthyNodes=[{"name": "x1"}])
    status = only_status(run(objects(lost, nodes=(node("x2"), node("x3")))).writes.before_reservations)
    (workers,) = [a for a in status["admission"]["podSetAssignments"] if a["name"] == "gpu"]
    assert workers["topologyAssignment"]["slices"][0]["valuesPerLevel"] == [
        {"individual": {"prefix": "x", "roots": ["2", "3"]}}
    ]
    assert status["unhealthyNodes"] == []


def test_quota_without_a_placement_is_not_admission() -> None:
    body = workload_body(near(ray_job("dev")), "QuotaReserved")
    for assigned in body["status"]["admission"]["podSetAssignments"]:
        assigned["delayedTopologyRequest"] = "Pending"
    of = objects(body, nodes=())
    assert not [
        planned
        for planned in run(of).writes.before_reservations
        if "Admitted" in str(getattr(planned.write, "body", ""))
    ]


def test_a_queue_names_its_missing_topology() -> None:
    cluster = make_cluster({**objects(), kinds.TOPOLOGIES: []})
    queue = cluster.cluster_queues["team-a"]
    assert queue_problem(queue, cluster) == StatusReason(
        "TopologyNotFound", "Topologies that do not exist: racks"
    )
    assert queue_problem(queue, make_cluster(objects())) is None
