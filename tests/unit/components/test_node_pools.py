"""Node pools: their inputs and resource options."""

from pathlib import Path
from typing import Any

import pulumi
import pytest

from components.foundation.gpu_networks import NodeInterface
from components.foundation.node_pools import NodePools, NodePoolsArgs
from preview.plugins import gke_document
from settings.load import load, parse
from settings.model.foundation.cluster import Gke
from tests.unit.components.harness import Declarations, declare, with_integers
from tests.unit.settings.builders import FILE, put, with_pool

REGIONAL = {"location": "us-west1"}
STACKS = Path(__file__).parents[3] / "stacks"

NODES = {
    "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"],
    "serviceAccount": "nodes@acme-ml.iam.gserviceaccount.com",
    "shieldedInstanceConfig": {"enableIntegrityMonitoring": True, "enableSecureBoot": True},
    "workloadMetadataConfig": {"mode": "GKE_METADATA"},
}
POOL = {"cluster": "ray", "deletionPolicy": "PREVENT", "location": "us-west1-b", "project": "acme-ml"}
NO_RESERVATION = {"reservationAffinity": {"consumeReservationType": "NO_RESERVATION"}}
RESERVATION = {
    "reservationAffinity": {
        "consumeReservationType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": ["gpus"],
    }
}
KEPT_UP = {"management": {"autoRepair": True, "autoUpgrade": True}}
UNREPAIRED = {"management": {"autoRepair": False, "autoUpgrade": True}}


def nodes_of(least: int, most: int, policy: str = "ANY") -> dict[str, Any]:
    """Returns the autoscaling of a pool in one zone."""
    return {"autoscaling": {"locationPolicy": policy, "minNodeCount": least, "maxNodeCount": most}}


def up_to(most: int) -> dict[str, Any]:
    """Returns the autoscaling of a queued pool, limited over all its zones."""
    return {"autoscaling": {"locationPolicy": "ANY", "totalMinNodeCount": 0, "totalMaxNodeCount": most}}


def gpus(gpu_type: str, count: int = 1, **more: Any) -> dict[str, Any]:
    driver = {"gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"}}
    return {"guestAccelerators": [{"type": gpu_type, "count": count, **driver, **more}]}


def declared_pools(config: dict[str, Any]) -> Declarations:
    settings = parse(config, FILE)

    def build() -> None:
        cluster = settings.cluster
        assert isinstance(cluster, Gke)
        interfaces = [
            NodeInterface(pulumi.Output.from_input(f"gpu-{i}"), pulumi.Output.from_input(f"gpu-{i}-subnet"))
            for i in range(8)
        ]
        account = "nodes@acme-ml.iam.gserviceaccount.com"
        args = NodePoolsArgs(settings.pools, "acme-ml", cluster.place, cluster.name, account, interfaces)
        NodePools("muster", args)

    return declare(build)


L4 = {"machineType": "g2-standard-4", "gpu": {"type": "nvidia-l4", "count": 1}}
H100 = {"machineType": "a3-highgpu-8g", "gpu": {"type": "nvidia-h100-80gb", "count": 8}}
H100_MEGA = {"machineType": "a3-megagpu-8g", "gpu": {"type": "nvidia-h100-mega-80gb", "count": 8}}
H200 = {"machineType": "a3-ultragpu-8g", "gpu": {"type": "nvidia-h200-141gb", "count": 8}}
UP_TO_4 = {"nodes": {"max": 4}}

# Name of the case -> the pool, and its inputs in addition to those that all pools share.
POOLS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "queued: flex-start VMs": (
        {**L4, **UP_TO_4, "provisioning": "queued"},
        {"initialNodeCount": 0, "queuedProvisioning": {"enabled": True}, **UNREPAIRED, **up_to(4)},
        {"machineType": "g2-standard-4", **gpus("nvidia-l4"), **NO_RESERVATION, "flexStart": True},
    ),
    "queued, as before flex-start": (
        {**L4, **UP_TO_4, "provisioning": "queued", "flexStart": False},
        {"initialNodeCount": 0, "queuedProvisioning": {"enabled": True}, **nodes_of(0, 4)},
        {"machineType": "g2-standard-4", **gpus("nvidia-l4"), **NO_RESERVATION},
    ),
    "flex-start": (
        {**L4, **UP_TO_4, "provisioning": "flex-start", "maxRunSeconds": 604800},
        {"initialNodeCount": 0, **UNREPAIRED, **nodes_of(0, 4)},
        {
            "machineType": "g2-standard-4",
            **gpus("nvidia-l4"),
            **NO_RESERVATION,
            "flexStart": True,
            "maxRunDuration": "604800s",
        },
    ),
    "spot": (
        {**L4, **UP_TO_4, "provisioning": "spot"},
        {"initialNodeCount": 0, **KEPT_UP, **nodes_of(0, 4)},
        {
            "machineType": "g2-standard-4",
            **gpus("nvidia-l4"),
            **NO_RESERVATION,
            "spot": True,
            "taints": [{"key": "cloud.google.com/gke-spot", "value": "true", "effect": "NO_SCHEDULE"}],
        },
    ),
    "reserved": (
        {**L4, **UP_TO_4, "provisioning": "reserved", "reservation": "gpus"},
        {"initialNodeCount": 0, **KEPT_UP, **nodes_of(0, 4)},
        {
            "machineType": "g2-standard-4",
            **gpus("nvidia-l4"),
            **RESERVATION,
        },
    ),
    "on demand, CPUs, with its own disks and labels": (
        {
            "machineType": "n2-standard-8",
            "nodes": {"min": 1, "max": 4, "initial": 2},
            "bootDisk": {"type": "pd-ssd", "sizeGb": 200},
            "localSsds": 2,
            "labels": {"team": "data"},
            "maxPodsPerNode": 32,
            "serviceAccount": "batch@acme-ml.iam.gserviceaccount.com",
            "secureBoot": False,
            "upgrade": {"maxSurge": 2, "maxUnavailable": 1},
        },
        {
            "initialNodeCount": 2,
            "maxPodsPerNode": 32,
            "upgradeSettings": {"strategy": "SURGE", "maxSurge": 2, "maxUnavailable": 1},
            **KEPT_UP,
            **nodes_of(1, 4, "BALANCED"),
        },
        {
            "machineType": "n2-standard-8",
            "diskType": "pd-ssd",
            "diskSizeGb": 200,
            "ephemeralStorageLocalSsdConfig": {"localSsdCount": 2},
            "labels": {"team": "data"},
            "serviceAccount": "batch@acme-ml.iam.gserviceaccount.com",
            "shieldedInstanceConfig": {"enableIntegrityMonitoring": True, "enableSecureBoot": False},
        },
    ),
    "partitioned and shared GPUs, with preloaded images": (
        {
            "machineType": "a2-highgpu-1g",
            "gpu": {
                "type": "nvidia-tesla-a100",
                "count": 1,
                "driver": "default",
                "partition": "3g.20gb",
                "sharing": {"strategy": "time-sharing", "maxClients": 4},
            },
            **UP_TO_4,
            "secondaryBootDisks": ["projects/acme-ml/global/images/ray-2-52"],
            "fastSocket": True,
        },
        {"initialNodeCount": 0, **KEPT_UP, **nodes_of(0, 4, "BALANCED")},
        {
            "machineType": "a2-highgpu-1g",
            **gpus(
                "nvidia-tesla-a100",
                gpuPartitionSize="3g.20gb",
                gpuSharingConfig={"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": 4},
                gpuDriverInstallationConfig={"gpuDriverVersion": "DEFAULT"},
            ),
            "secondaryBootDisks": [
                {"diskImage": "projects/acme-ml/global/images/ray-2-52", "mode": "CONTAINER_IMAGE_CACHE"}
            ],
            "gcfsConfig": {"enabled": True},
            "gvnic": {"enabled": True},
            "fastSocket": {"enabled": True},
        },
    ),
    "GPUDirect over four networks, compact placement, surge upgrades": (
        {**H100, **UP_TO_4, "gpudirect": "tcpx", "placement": "compact"},
        {
            "initialNodeCount": 0,
            "placementPolicy": {"type": "COMPACT"},
            "networkConfig": {
                "additionalNodeNetworkConfigs": [
                    {"network": f"gpu-{i}", "subnetwork": f"gpu-{i}-subnet"} for i in range(4)
                ]
            },
            **KEPT_UP,
            **nodes_of(0, 4, "BALANCED"),
        },
        {
            "machineType": "a3-highgpu-8g",
            **gpus("nvidia-h100-80gb", 8),
            "ephemeralStorageLocalSsdConfig": {"localSsdCount": 16},
            "gvnic": {"enabled": True},
        },
    ),
    "DRANET": (
        {
            **H200,
            **UP_TO_4,
            "provisioning": "reserved",
            "reservation": "gpus",
            "dranet": True,
            "upgrade": {"strategy": "blue-green", "soakSeconds": 60},
        },
        {
            "initialNodeCount": 0,
            "networkConfig": {"acceleratorNetworkProfile": "auto"},
            "upgradeSettings": {
                "strategy": "BLUE_GREEN",
                "blueGreenSettings": {
                    "nodePoolSoakDuration": "60s",
                    "standardRolloutPolicy": {"batchNodeCount": 1},
                },
            },
            **KEPT_UP,
            **nodes_of(0, 4),
        },
        {
            "machineType": "a3-ultragpu-8g",
            **gpus("nvidia-h200-141gb", 8),
            "ephemeralStorageLocalSsdConfig": {"localSsdCount": 32},
            "gvnic": {"enabled": True},
            **RESERVATION,
            "labels": {"cloud.google.com/gke-networking-dra-driver": "true"},
        },
    ),
    "single-host TPUs have no placement policy": (
        {"machineType": "ct6e-standard-4t", "tpu": {"topology": "2x2"}, **UP_TO_4},
        {"initialNodeCount": 0, **KEPT_UP, **nodes_of(0, 4, "BALANCED")},
        {"machineType": "ct6e-standard-4t"},
    ),
}


@pytest.mark.parametrize(("pool", "asked", "nodes"), POOLS.values(), ids=POOLS.keys())
def test_pools_become_node_pool_inputs(
    pool: dict[str, Any], asked: dict[str, Any], nodes: dict[str, Any]
) -> None:
    declared = declared_pools(with_pool(pool))["NodePool/more"]

    assert declared.inputs == {**POOL, "name": "more", "nodeConfig": {**NODES, **nodes}, **asked}
    message = gke_document.MESSAGES[declared.type]
    assert not list(gke_document.problems(message, with_integers(declared.inputs)))


def test_gpudirect_tcpxo_takes_eight_networks() -> None:
    pool = declared_pools(with_pool({**H100_MEGA, **UP_TO_4, "gpudirect": "tcpxo"})).inputs("NodePool/more")

    assert len(pool["networkConfig"]["additionalNodeNetworkConfigs"]) == 8


def test_stack_dev_declares_the_guides_pool() -> None:
    """Source: GKE, "Run a large-scale workload with flex-start with queued provisioning", gcloud container
    node-pools create …; the names, machine and limit are those of KubeRay's guide to gang scheduling."""
    settings = load(STACKS / "Pulumi.dev.yaml")
    assert isinstance(settings.cluster, Gke)
    args = NodePoolsArgs(
        settings.pools, "acme-ml-dev", settings.cluster.place, "kuberay-gpu-cluster", "nodes"
    )
    pools = declare(lambda: NodePools("muster", args))

    pool = pools.inputs("NodePool/gpu-node-pool")
    assert pool["queuedProvisioning"] == {"enabled": True}
    assert pool["location"] == "us-west1-b"
    assert pool["initialNodeCount"] == 0
    assert pool["autoscaling"] == up_to(10)["autoscaling"]
    assert pool["management"]["autoRepair"] is False
    assert "upgradeSettings" not in pool
    assert (
        pool["nodeConfig"].items()
        >= {
            "machineType": "g2-standard-4",
            "flexStart": True,
            **gpus("nvidia-l4"),
            **NO_RESERVATION,
        }.items()
    )
    system = pools.inputs("NodePool/system")
    assert (system["nodeConfig"]["machineType"], system["initialNodeCount"]) == ("e2-standard-4", 1)
    # The guide has one node, which does not hold the heads of two teams next to GKE's pods.
    assert system["autoscaling"] == nodes_of(0, 2, "BALANCED")["autoscaling"]
    assert pools.kinds("NodePool") == ["NodePool/gpu-node-pool", "NodePool/system"]


def test_each_nvlink_domain_is_a_node_pool_with_one_policy() -> None:
    gb200 = {"machineType": "a4x-highgpu-4g", "gpu": {"type": "nvidia-gb200", "count": 4}}
    pool = {
        **gb200,
        "provisioning": "reserved",
        "reservation": "gpus",
        "placement": "nvlink",
        "nodes": {"max": 20},
        "dranet": True,
    }
    declared = declared_pools(with_pool(pool))

    assert declared.kinds("NodePool") == [
        "NodePool/l4",
        "NodePool/more-0",
        "NodePool/more-1",
        "NodePool/system",
    ]
    assert declared.inputs("ResourcePolicy/ray-more") == {
        "name": "ray-more-ac8d78",
        "project": "acme-ml",
        "region": "us-west1",
        "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "1x72"},
    }
    for name, most in (("more-0", 18), ("more-1", 2)):
        inputs = declared.inputs(f"NodePool/{name}")
        assert inputs["placementPolicy"] == {"type": "COMPACT", "policyName": "ray-more-ac8d78"}
        assert inputs["autoscaling"] == nodes_of(0, most, "ANY")["autoscaling"]
        assert inputs["nodeConfig"]["labels"]["muster.dev/pool"] == "more"
        assert inputs["nodeConfig"]["ephemeralStorageLocalSsdConfig"] == {"localSsdCount": 4}
        message = gke_document.MESSAGES[declared[f"NodePool/{name}"].type]
        assert not list(gke_document.problems(message, with_integers(inputs)))


# Name of the case -> the cluster, the pool's zones, and whether limits are by zone or total.
ZONES: dict[str, tuple[dict[str, Any], list[str], dict[str, Any]]] = {
    "a region: total, with an initial node in each zone": (
        REGIONAL,
        [],
        {"autoscaling": {"locationPolicy": "BALANCED", "totalMinNodeCount": 2, "totalMaxNodeCount": 6}}
        | {"initialNodeCount": 1},
    ),
    "one zone of a region: by zone": (
        REGIONAL,
        ["us-west1-a"],
        nodes_of(2, 6, "BALANCED") | {"initialNodeCount": 2, "nodeLocations": ["us-west1-a"]},
    ),
    "a regional cluster in one zone: by zone": (
        {**REGIONAL, "zones": ["us-west1-a"]},
        [],
        nodes_of(2, 6, "BALANCED") | {"initialNodeCount": 2},
    ),
    "a zonal cluster in two zones: total": (
        {"zones": ["us-west1-a"]},
        [],
        {"autoscaling": {"locationPolicy": "BALANCED", "totalMinNodeCount": 2, "totalMaxNodeCount": 6}}
        | {"initialNodeCount": 1},
    ),
}


@pytest.mark.parametrize(("cluster", "zones", "counted"), ZONES.values(), ids=ZONES.keys())
def test_limits_are_never_both_by_zone_and_in_all(
    cluster: dict[str, Any], zones: list[str], counted: dict[str, Any]
) -> None:
    pool = {"machineType": "e2-standard-4", "nodes": {"min": 2, "max": 6}, "zones": zones}
    declared = declared_pools(with_pool(pool, **cluster)).inputs("NodePool/more")

    keys = ("autoscaling", "initialNodeCount", "nodeLocations")
    assert {key: declared[key] for key in keys if key in declared} == counted


V6E = {"machineType": "ct6e-standard-4t", "tpu": {"topology": "4x4"}, "slices": {"max": 2}}


def test_each_slice_is_a_node_pool_that_scales_whole() -> None:
    declared = declared_pools(with_pool({**V6E, "provisioning": "flex-start"}))

    for name in ("more-0", "more-1"):
        assert declared.inputs(f"NodePool/{name}") == {
            **POOL,
            "name": name,
            "initialNodeCount": 0,
            "placementPolicy": {"type": "COMPACT", "tpuTopology": "4x4"},
            **UNREPAIRED,
            **nodes_of(0, 4),
            "nodeConfig": {
                **NODES,
                **NO_RESERVATION,
                "flexStart": True,
                "labels": {"muster.dev/pool": "more"},
                "machineType": "ct6e-standard-4t",
            },
        }
    assert declared.kinds("NodePool") == [f"NodePool/{name}" for name in ("l4", "more-0", "more-1", "system")]


def test_limits_of_queued_slices_are_by_zone() -> None:
    declared = declared_pools(with_pool({**V6E, "provisioning": "queued"})).inputs("NodePool/more-0")

    assert declared["autoscaling"] == nodes_of(0, 4)["autoscaling"]
    assert declared["nodeConfig"]["flexStart"]


def test_tpu7x_slices_have_a_workload_policy_of_their_topology() -> None:
    pool = {"machineType": "tpu7x-standard-4t", "tpu": {"topology": "2x2x2"}, "slices": {"max": 1}}
    declared = declared_pools(with_pool(pool))

    assert declared.inputs("ResourcePolicy/ray-more") == {
        "name": "ray-more-ac8d78",
        "project": "acme-ml",
        "region": "us-west1",
        "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "2x2x2"},
    }
    assert declared.inputs("NodePool/more-0")["placementPolicy"] == {
        "type": "COMPACT",
        "tpuTopology": "2x2x2",
        "policyName": "ray-more-ac8d78",
    }
    assert "ResourcePolicy/ray-more" in declared["NodePool/more-0"].depends_on


@pytest.mark.parametrize("protected", [True, False])
def test_node_pools_ignore_counts_and_are_replaced_by_placement(protected: bool) -> None:
    pool = declared_pools(put("muster:cluster", "deletionProtection", protected))["NodePool/l4"]

    assert pool.protect is protected
    assert pool.inputs.get("deletionPolicy") == ("PREVENT" if protected else None)
    assert pool.ignore_changes == ("initialNodeCount", "nodeCount")
    assert pool.replace_on_changes == ("placementPolicy",)
    assert pool.delete_before_replace


def test_pools_with_accelerators_depend_on_pools_without() -> None:
    declared = declared_pools(with_pool(V6E))

    for name in ("l4", "more-0", "more-1"):
        assert "NodePool/system" in declared[f"NodePool/{name}"].depends_on
    assert "NodePool/l4" not in declared["NodePool/system"].depends_on
