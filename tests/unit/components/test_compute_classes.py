"""ComputeClasses: their priorities, and the flavors that select their nodes."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # its types are a package

from components.foundation.compute_classes import compute_class
from settings.load import parse
from settings.model.base import Model
from settings.model.foundation.node_defaults import NodeDefaults
from settings.model.pools.machine_facts import BootDiskType
from settings.model.pools.parts import Consolidation, NodePriority
from tests.unit.components.harness import Declarations, declare_platform
from tests.unit.settings.builders import FILE, GOOD, with_pool
from tests.unit.settings.pools.builders import B200, CPU, GPU, V6E


def closed(schema: Any) -> Any:
    """Returns the schema, which then refuses unknown keys."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: closed(part) for key, part in schema.items()}
    return {**parts, "additionalProperties": False} if isinstance(schema.get("properties"), dict) else parts


# As GKE's API server: it drops unknown keys, so that here none may be unknown.
SCHEMA = Draft202012Validator(
    closed(json.loads((Path(__file__).parent / "compute_class_schema.json").read_text())["spec"])
)
A100 = {"machineType": "a2-highgpu-1g", "nodes": {"max": 4}}
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
    "shared partitions of GPUs": (
        {
            **A100,
            "gpu": {
                "type": "nvidia-tesla-a100",
                "count": 1,
                "partition": "1g.5gb",
                "sharing": {"strategy": "mps", "maxClients": 4},
            },
        },
        {},
        {
            "machineType": "a2-highgpu-1g",
            "gpu": {
                "type": "nvidia-tesla-a100",
                "count": 1,
                "driverVersion": "latest",
                "gpuSharing": {
                    "gpuPartitionSize": "1g.5gb",
                    "sharingStrategy": "MPS",
                    "maxSharedClientsPerGPU": 4,
                },
            },
        },
    ),
    "disks of container images": (
        {**GPU, "secondaryBootDisks": ["projects/acme-ml/global/images/ray", "global/images/own"]},
        {},
        {
            **L4_NODE,
            "storage": {
                "secondaryBootDisks": [
                    {"diskImageName": "ray", "mode": "CONTAINER_IMAGE_CACHE", "project": "acme-ml"},
                    {"diskImageName": "own", "mode": "CONTAINER_IMAGE_CACHE"},
                ]
            },
        },
    ),
    "a reservation in a zone": (
        GPU,
        {"provisioning": "reserved", "reservation": "l4s", "zones": ["us-west1-b"]},
        {
            **L4_NODE,
            "reservations": {"affinity": "Specific", "specific": [{"name": "l4s", "zones": ["us-west1-b"]}]},
        },
    ),
    "any reservation, or none": (
        GPU,
        {"anyReservation": "best-effort"},
        {**L4_NODE, "reservations": {"affinity": "AnyBestEffort"}},
    ),
    "any reservation only": (
        GPU,
        {"anyReservation": "required"},
        {**L4_NODE, "reservations": {"affinity": "AnyThenFail"}},
    ),
    "flex-start nodes that are replaced": (
        GPU,
        {**FLEX, "recycleLeadSeconds": 3600, "capacityCheckWaitSeconds": 600},
        {
            **L4_NODE,
            "flexStart": {"enabled": True, "nodeRecycling": {"leadTimeSeconds": 3600}},
            "capacityCheckWaitTimeSeconds": 600,
        },
    ),
    "a placement policy": (
        GPU,
        {"placementPolicy": "rack"},
        {**L4_NODE, "placement": {"policyName": "rack"}},
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
    manifest = compute_class(parse(config, FILE).pools[2], "nodes", NodeDefaults())
    assert manifest["priorities"] == [expected]
    assert list(SCHEMA.iter_errors(manifest)) == []


def test_gke_installs_no_driver_where_something_else_does() -> None:
    config = with_pool({**GPU, "gpu": {**GPU["gpu"], "driver": "disabled"}, **CLASS})
    config["muster:gpuOperator"] = {"install": "helm"}
    config["muster:pools"][1]["gpu"]["driver"] = "disabled"
    manifest = compute_class(parse(config, FILE).pools[2], "nodes", NodeDefaults())
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
    manifest = compute_class(parsed, "nodes", NodeDefaults())
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


def bounds(model: type[Model]) -> list[tuple[str, int]]:
    """Returns the smallest and the largest value of each bounded number, by its key in a stack file."""
    properties = model.model_json_schema()["properties"]
    return [
        (key, kind[bound])
        for key, field in properties.items()
        for kind in field.get("anyOf", ())
        for bound in ("minimum", "maximum")
        if bound in kind
    ]


@pytest.mark.parametrize(("key", "value"), bounds(NodePriority), ids=str)
def test_bounds_of_a_priority_are_accepted_by_gke(key: str, value: int) -> None:
    way: dict[str, Any] = {**FLEX, key: value}
    if key == "recycleLeadSeconds":
        way[key] = min(value, 604799)  # nodes run for 604,800 seconds at most
    config = with_pool({**GPU, "computeClass": {"priorities": [way]}})
    manifest = compute_class(parse(config, FILE).pools[2], "nodes", NodeDefaults())
    assert list(SCHEMA.iter_errors(manifest)) == []


@pytest.mark.parametrize(("key", "value"), bounds(Consolidation), ids=str)
def test_bounds_of_consolidation_are_accepted_by_gke(key: str, value: int) -> None:
    pool = {**GPU, "computeClass": {"priorities": [SPOT], "consolidation": {key: value}}}
    manifest = compute_class(parse(with_pool(pool), FILE).pools[2], "nodes", NodeDefaults())
    assert list(manifest["autoscalingPolicy"].values()) == [value]
    assert list(SCHEMA.iter_errors(manifest)) == []


def test_nodes_in_advance_and_network_interfaces_are_those_of_the_pool() -> None:
    pool = {**GPU, **CLASS, "nodes": {"min": 2, "max": 4}, "secondaryBootDisks": ["global/images/ray"]}
    manifest = compute_class(parse(with_pool(pool), FILE).pools[2], "nodes", NodeDefaults())
    assert manifest["minimumCapacity"] == {"targetNodeCount": 2}
    assert manifest["nodePoolConfig"]["imageStreaming"] == {"enabled": True}
    assert list(SCHEMA.iter_errors(manifest)) == []


def test_dranet_uses_the_networks_of_gke() -> None:
    pool = {**B200, "dranet": True, "computeClass": {"priorities": [SPOT]}}
    manifest = compute_class(parse(with_pool(pool), FILE).pools[2], "nodes", NodeDefaults())
    assert manifest["priorities"][0]["acceleratorNetworkProfile"] == "auto"
    assert manifest["nodePoolConfig"]["dra"] == {"networking": {"enabled": True}}
    assert list(SCHEMA.iter_errors(manifest)) == []


def test_gke_accepts_every_type_of_boot_disk() -> None:
    storage = SCHEMA.schema["properties"]["priorities"]["items"]["properties"]["storage"]
    assert set(get_args(BootDiskType)) <= set(storage["properties"]["bootDiskType"]["enum"])
