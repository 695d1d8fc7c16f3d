"""ComputeClasses: their priorities, and the flavors that select their nodes."""

from typing import Any

import pytest

from components.foundation.compute_classes import compute_class
from settings.load import parse
from tests.unit.components.harness import Declarations, declare_platform
from tests.unit.settings.builders import FILE, GOOD, with_pool
from tests.unit.settings.pools.builders import CPU, GPU, V6E

L4 = {"type": "nvidia-l4", "count": 1, "driverVersion": "latest"}
L4_NODE = {"machineType": "g2-standard-4", "gpu": L4}
SPOT, FLEX = {"provisioning": "spot"}, {"provisioning": "flex-start"}
BLOCK = "projects/acme-gpus/reservations/l4s/reservationBlocks/block-1"
CLASS = {"computeClass": {"priorities": [{"provisioning": "reserved", "reservation": "l4s"}, {}, SPOT]}}
CLASS_TAINT = {"key": "cloud.google.com/compute-class", "value": "more", "effect": "NoSchedule"}
SPOT_TAINT = {"key": "cloud.google.com/gke-spot", "value": "true", "effect": "NoSchedule"}
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
JOINED = {"kind": "existing", "name": "shared", "gke": {"location": "us-west1-b"}}


@pytest.fixture(scope="module")
def declared() -> Declarations:
    return declare_platform(with_pool({**GPU, **CLASS}))


PRIORITIES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "on demand": (GPU, {}, L4_NODE),
    "spot in a zone": (
        GPU,
        {**SPOT, "zones": ["us-west1-a"]},
        {**L4_NODE, "spot": True, "location": {"zones": ["us-west1-a"]}},
    ),
    "flex-start for an hour": (
        GPU,
        {**FLEX, "maxRunSeconds": 3600},
        {**L4_NODE, "flexStart": {"enabled": True}, "maxRunDurationSeconds": 3600},
    ),
    "a reservation": (
        GPU,
        {"provisioning": "reserved", "reservation": "l4s"},
        {**L4_NODE, "reservations": {"affinity": "Specific", "specific": [{"name": "l4s"}]}},
    ),
    "a block of another project's reservation": (
        GPU,
        {"provisioning": "reserved", "reservation": BLOCK},
        {
            **L4_NODE,
            "reservations": {
                "affinity": "Specific",
                "specific": [
                    {"name": "l4s", "project": "acme-gpus", "reservationBlock": {"name": "block-1"}}
                ],
            },
        },
    ),
    "a larger machine, with disks": (
        {**CPU, "bootDisk": {"type": "pd-ssd", "sizeGb": 200}, "localSsds": 2, "maxPodsPerNode": 32},
        {"machineType": "n2-standard-16"},
        {
            "machineType": "n2-standard-16",
            "storage": {"bootDiskType": "pd-ssd", "bootDiskSize": 200, "localSSDCount": 2},
            "maxPodsPerNode": 32,
        },
    ),
    "TPUs": (
        V6E,
        FLEX,
        {
            "machineType": "ct6e-standard-4t",
            "tpu": {"type": "tpu-v6e-slice", "count": 4, "topology": "2x2"},
            "flexStart": {"enabled": True},
        },
    ),
    "GPUs with GKE's default driver": (
        {**GPU, "gpu": {**GPU["gpu"], "driver": "default"}},
        {},
        {"machineType": "g2-standard-4", "gpu": {**L4, "driverVersion": "default"}},
    ),
}


@pytest.mark.parametrize(("pool", "priority", "expected"), PRIORITIES.values(), ids=PRIORITIES.keys())
def test_priority_says_how_nodes_are_obtained(
    pool: dict[str, Any], priority: dict[str, Any], expected: dict[str, Any]
) -> None:
    config = with_pool({**pool, "computeClass": {"priorities": [priority]}})
    assert compute_class(parse(config, FILE).pools[2], "nodes")["priorities"] == [expected]


def test_gke_installs_no_driver_where_something_else_does() -> None:
    config = with_pool({**GPU, "gpu": {**GPU["gpu"], "driver": "disabled"}, **CLASS})
    config["muster:gpuOperator"] = {"install": "helm"}
    config["muster:pools"][1]["gpu"]["driver"] = "disabled"
    manifest = compute_class(parse(config, FILE).pools[2], "nodes")
    assert {priority["gpu"]["driverVersion"] for priority in manifest["priorities"]} == {
        "autoinstall-disabled"
    }
    assert manifest["nodePoolConfig"]["nodeLabels"] == {"gke-no-default-nvidia-gpu-device-plugin": "true"}


def test_class_of_a_pool_takes_the_place_of_its_node_pool(declared: Declarations) -> None:
    assert "NodePool/more" not in declared
    manifest = declared["ComputeClass/more"]
    assert {key: value for key, value in manifest.inputs["spec"].items() if key != "priorities"} == {
        "nodePoolAutoCreation": {"enabled": True, "shieldedInstanceConfig": {"enableSecureBoot": True}},
        "nodePoolConfig": {"serviceAccount": "ray-nodes-2ceadf@acme-ml.iam.gserviceaccount.com"},
        "whenUnsatisfiable": "DoNotScaleUp",
        "activeMigration": {"optimizeRulePriority": False},
    }
    assert [priority.get("spot", False) for priority in manifest.inputs["spec"]["priorities"]] == [
        False,
        False,
        True,
    ]
    assert "Cluster/ray" in manifest.depends_on or "GkeCluster/cluster" in manifest.depends_on


def test_flavor_selects_nodes_of_the_class_and_tolerates_their_taints(declared: Declarations) -> None:
    taints = [GPU_TAINT, CLASS_TAINT, SPOT_TAINT]
    assert declared.spec("ResourceFlavor/more") == {
        "nodeLabels": {"cloud.google.com/compute-class": "more"},
        "nodeTaints": taints,
        "tolerations": [{**taint, "operator": "Equal"} for taint in taints],
    }


def test_labels_and_images_of_nodes_are_those_of_the_pool() -> None:
    pool = {**GPU, **CLASS, "labels": {"team": "ml"}, "imageStreaming": True, "secureBoot": False}
    parsed = parse(with_pool({**pool, "serviceAccount": "l4@acme-ml.iam.gserviceaccount.com"}), FILE).pools[2]
    manifest = compute_class(parsed, "nodes")
    assert manifest["nodePoolConfig"] == {
        "serviceAccount": "nodes",
        "nodeLabels": {"team": "ml"},
        "imageStreaming": {"enabled": True},
    }
    assert manifest["nodePoolAutoCreation"]["shieldedInstanceConfig"] == {"enableSecureBoot": False}
    assert parsed.node_labels == {"cloud.google.com/compute-class": "more", "team": "ml"}


def test_class_is_added_to_a_cluster_made_elsewhere() -> None:
    system, l4 = GOOD["muster:pools"]
    fallback = {**l4, "provisioning": "on-demand", "computeClass": {"priorities": [{}, SPOT]}}
    pools = [{**system, "existing": True}, fallback]
    declared = declare_platform({**GOOD, "muster:cluster": JOINED, "muster:pools": pools})
    manifest = declared["ComputeClass/l4"]
    assert manifest.inputs["spec"]["nodePoolConfig"] == {
        "serviceAccount": "shared-pools-d8c074@acme-ml.iam.gserviceaccount.com"
    }
    assert (declared.kinds("NodePool"), manifest.provider) == ([], "kubernetes/kubernetes")
