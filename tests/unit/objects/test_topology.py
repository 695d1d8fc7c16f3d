"""Conversion of nodes to the core's, and topology requests of pod templates."""

from typing import Any

import msgspec
import pytest

from muster import admission as core
from muster.objects import kueue, topology
from muster.translation import core_nodes

HOST = core.HOSTNAME


def pod(node: str = "n1", cpu: str = "500m", phase: str = "Running", **annotations: str) -> topology.BoundPod:
    obj = {
        "metadata": {
            "name": "p",
            "annotations": {f"kueue.x-k8s.io/podset-{key}": v for key, v in annotations.items()},
        },
        "spec": {
            "nodeName": node,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
        },
        "status": {"phase": phase},
    }
    return msgspec.convert(obj, topology.BoundPod)


def test_a_topology_is_its_labels_in_order() -> None:
    obj = {"metadata": {"name": "t"}, "spec": {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": HOST}]}}
    assert core_nodes.topology(msgspec.convert(obj, topology.Topology)) == core.Topology("t", ("rack", HOST))


def test_a_node_has_capacity_and_usage() -> None:
    obj = {
        "metadata": {"name": "n1", "labels": {"rack": "r1"}},
        "spec": {"unschedulable": True, "taints": [{"key": "gpu", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"cpu": "2", "memory": "1Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    assert core_nodes.node(msgspec.convert(obj, topology.Node), {"cpu": 500}) == core.Node(
        name="n1",
        labels={"rack": "r1"},
        taints=(core.Taint("gpu", "", core.TaintEffect.NO_SCHEDULE),),
        allocatable={"cpu": 2000, "memory": 2**30, "pods": 110},
        used={"cpu": 500},
        unschedulable=True,
        ready=True,
    )


def test_an_unreadable_node_is_left_out() -> None:
    nodes = [
        {"metadata": {"name": "bad"}, "status": {"allocatable": {"cpu": "many"}}},
        {"metadata": {"name": "n1"}},
    ]
    racks = {"metadata": {"name": "racks"}, "spec": {"levels": [{"nodeLabel": "rack"}]}}
    converted = core_nodes.topologies_and_nodes(
        [msgspec.convert(racks, topology.Topology)],
        [msgspec.convert(obj, topology.Node) for obj in nodes],
        [pod()],
    )
    assert converted["nodes"] == {"n1": core.Node("n1", used={"pods": 1, "cpu": 500}, ready=False)}
    assert converted["topologies"] == {"racks": core.Topology("racks", ("rack",))}


def test_a_node_without_conditions_is_not_ready() -> None:
    obj = msgspec.convert({"metadata": {"name": "n1"}}, topology.Node)
    assert not core_nodes.node(obj, {}).ready


@pytest.mark.parametrize(
    ("pods", "used"),
    [
        pytest.param([], {}, id="none"),
        pytest.param([pod(), pod()], {"n1": {"pods": 2, "cpu": 1000}}, id="two on a node"),
        pytest.param([pod(node="")], {}, id="a pod without a node"),
        pytest.param([pod(phase="Succeeded"), pod(phase="Failed")], {}, id="pods that have ended"),
        pytest.param([pod(**{"required-topology": "rack"})], {}, id="a pod placed by an admission"),
        pytest.param([pod(cpu="lots")], {"n1": {"pods": 1}}, id="a pod with an invalid request"),
    ],
)
def test_usage_of_nodes_counts_pods_without_an_admission(
    pods: list[topology.BoundPod], used: dict[str, dict[str, int]]
) -> None:
    assert core_nodes.used_by_node(pods) == used


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param(None, None, id="none"),
        pytest.param({"required": "rack"}, core.TopologyRequest(required="rack"), id="required"),
        pytest.param({"unconstrained": True}, core.TopologyRequest(unconstrained=True), id="unconstrained"),
        pytest.param(
            {"preferred": "rack", "podSetSliceRequiredTopology": HOST, "podSetSliceSize": 2},
            core.TopologyRequest(preferred="rack", slices=(core.SliceConstraint(HOST, 2),)),
            id="slices of one level",
        ),
        pytest.param(
            {"podsetSliceRequiredTopologyConstraints": [{"topology": "rack", "size": 4}]},
            core.TopologyRequest(slices=(core.SliceConstraint("rack", 4),)),
            id="slices by constraints",
        ),
        pytest.param({"podSetGroupName": "g"}, core.TopologyRequest(group="g"), id="a group"),
    ],
)
def test_topology_requests_are_converted(
    obj: dict[str, Any] | None, expected: core.TopologyRequest | None
) -> None:
    assert (
        core_nodes.topology_request(None if obj is None else msgspec.convert(obj, kueue.TopologyRequest))
        == expected
    )


NAME = "kueue.x-k8s.io/podset-"


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        pytest.param({}, None, id="none"),
        pytest.param({"group-name": "g"}, None, id="a group alone"),
        pytest.param(
            {"required-topology": "rack", "preferred-topology": "block", "group-name": "g"},
            kueue.TopologyRequest(required="rack", pod_set_group_name="g"),
            id="required, with a group",
        ),
        pytest.param({"preferred-topology": "rack"}, kueue.TopologyRequest(preferred="rack"), id="preferred"),
        pytest.param(
            {"unconstrained-topology": "true"}, kueue.TopologyRequest(unconstrained=True), id="unconstrained"
        ),
        pytest.param(
            {"slice-required-topology": "rack", "slice-size": "4"},
            kueue.TopologyRequest(
                podset_slice_required_topology_constraints=(kueue.SliceConstraint(topology="rack", size=4),)
            ),
            id="slices",
        ),
        pytest.param({"slice-required-topology": "rack"}, None, id="slices without a size"),
        pytest.param(
            {"slice-required-topology-constraints": '[{"topology": "rack", "size": 4}]'},
            kueue.TopologyRequest(
                podset_slice_required_topology_constraints=(kueue.SliceConstraint(topology="rack", size=4),)
            ),
            id="slices as JSON",
        ),
    ],
)
def test_annotations_become_topology_requests(
    annotations: dict[str, str], expected: kueue.TopologyRequest | None
) -> None:
    assert topology.annotated_request({NAME + key: value for key, value in annotations.items()}) == expected


@pytest.mark.parametrize(
    "annotations",
    [
        {"unconstrained-topology": "perhaps"},
        {"slice-required-topology": "rack", "slice-size": "many"},
        {"slice-required-topology-constraints": "{"},
    ],
)
def test_unreadable_annotations_raise(annotations: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=f"annotation {NAME}{[*annotations][-1]}"):
        topology.annotated_request({NAME + key: value for key, value in annotations.items()})
