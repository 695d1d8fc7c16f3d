"""Settings of nodes that node pools and ComputeClasses share: kubelet, kernel, keys, tags."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # its types are a package

from preview.plugins import gke_document
from tests.unit.components.harness import Declarations, declare_platform, with_integers
from tests.unit.settings.builders import EXISTING, GOOD, with_pool

SCHEMA = Draft202012Validator(
    json.loads((Path(__file__).parent / "compute_class_schema.json").read_text())["spec"]
)
KEY = "projects/acme-ml/locations/us-west1/keyRings/ray/cryptoKeys/{}"
SEV = {"machineType": "n2d-standard-8", "confidentialNodes": "sev-snp"}
N2 = {"machineType": "n2-standard-8"}
RDMA = {
    "machineType": "a4-highgpu-8g",
    "gpu": {"type": "nvidia-b200", "count": 8},
    "gpudirect": "rdma",
    "dranet": True,
}
NUMA = {
    "cpuManagerPolicy": "static",
    "memoryManagerPolicy": "static",
    "topologyManagerPolicy": "single-numa-node",
    "topologyManagerScope": "pod",
}
SYSCTLS = {
    "net.core.somaxconn": 2048,
    "net.ipv4.tcp_rmem": "4096 87380 6291456",
    "kernel.dmesg_restrict": "true",
}

# Case -> keys of the pool, and what follows in its node pool and in its ComputeClass.
NODES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "aligned to NUMA nodes": (
        {**N2, "kubelet": NUMA},
        {
            "kubeletConfig": {
                "cpuManagerPolicy": "static",
                "memoryManager": {"policy": "Static"},
                "topologyManager": {"policy": "single-numa-node", "scope": "pod"},
            }
        },
        {
            "nodeSystemConfig": {
                "kubeletConfig": {
                    "cpuManagerPolicy": "static",
                    "memoryManager": {"policy": "Static"},
                    "topologyManager": {"policy": "single-numa-node", "scope": "pod"},
                }
            }
        },
    ),
    "many processes": (
        {**N2, "kubelet": {"podPidsLimit": 4194303}},
        {"kubeletConfig": {"podPidsLimit": 4194303}},
        {"nodeSystemConfig": {"kubeletConfig": {"podPidsLimit": 4194303}}},
    ),
    "huge pages": (
        {**N2, "linux": {"hugepages": {"2Mi": 1024, "1Gi": 2}}},
        {"linuxNodeConfig": {"hugepagesConfig": {"hugepageSize2m": 1024, "hugepageSize1g": 2}}},
        {
            "nodeSystemConfig": {
                "linuxNodeConfig": {"hugepageConfig": {"hugepage_size2m": 1024, "hugepage_size1g": 2}}
            }
        },
    ),
    "kernel parameters": (
        {**N2, "linux": {"sysctls": SYSCTLS}},
        {"linuxNodeConfig": {"sysctls": {name: str(value) for name, value in SYSCTLS.items()}}},
        {"nodeSystemConfig": {"linuxNodeConfig": {"sysctls": {**SYSCTLS, "kernel.dmesg_restrict": True}}}},
    ),
    "a key of the boot disk": (
        {**N2, "bootDisk": {"kmsKey": KEY.format("disks")}},
        {"bootDiskKmsKey": KEY.format("disks")},
        {"storage": {"bootDiskKMSKey": KEY.format("disks")}},
    ),
    "GPUDirect RDMA": (
        {**RDMA, "provisioning": "spot"},
        {"gpudirectStrategy": "RDMA", "gvnic": {"enabled": True}},
        {"gpuDirect": "rdma", "acceleratorNetworkProfile": "auto"},
    ),
}
# The same for what all nodes of a ComputeClass have.
ALL_NODES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "confidential": (
        SEV,
        {"confidentialNodes": {"enabled": True, "confidentialInstanceType": "SEV_SNP"}},
        {"confidentialNodeType": "SEV_SNP"},
    ),
    "tagged": (
        {**N2, "resourceManagerTags": {"tagKeys/1": "tagValues/2"}},
        {"resourceManagerTags": {"tagKeys/1": "tagValues/2"}},
        {"resourceManagerTags": [{"key": "tagKeys/1", "value": "tagValues/2"}]},
    ),
}


def declared_pool(keys: dict[str, Any], **cluster: Any) -> Declarations:
    return declare_platform(with_pool({**keys, "nodes": {"max": 4}}, **cluster))


def in_class(keys: dict[str, Any]) -> Any:
    """Returns the spec of the pool's ComputeClass, which GKE accepts."""
    ways = [{key: keys[key] for key in ("provisioning",) if key in keys}]
    pool = {key: value for key, value in keys.items() if key != "provisioning"}
    spec = declared_pool({**pool, "computeClass": {"priorities": ways}}).inputs("ComputeClass/more")["spec"]
    SCHEMA.validate(spec)
    return spec


@pytest.mark.parametrize(
    ("keys", "pool"),
    [(keys, pool) for keys, pool, _ in (NODES | ALL_NODES).values()],
    ids=[*NODES, *ALL_NODES],
)
def test_node_pool_has_the_settings_of_its_nodes(keys: dict[str, Any], pool: dict[str, Any]) -> None:
    inputs = declared_pool(keys).inputs("NodePool/more")

    assert {key: inputs["nodeConfig"].get(key) for key in pool} == pool
    assert list(gke_document.problems("NodePool", with_integers(inputs))) == []


@pytest.mark.parametrize(
    ("keys", "expected"), [(keys, way) for keys, _, way in NODES.values()], ids=list(NODES)
)
def test_priorities_have_the_settings_of_their_nodes(keys: dict[str, Any], expected: dict[str, Any]) -> None:
    (priority,) = in_class(keys)["priorities"]
    assert {key: priority.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("keys", "expected"), [(keys, nodes) for keys, _, nodes in ALL_NODES.values()], ids=list(ALL_NODES)
)
def test_class_has_the_settings_of_all_its_nodes(keys: dict[str, Any], expected: dict[str, Any]) -> None:
    nodes = in_class(keys)["nodePoolConfig"]
    assert {key: nodes.get(key) for key in expected} == expected


def test_upgrades_wait_for_the_end_of_support() -> None:
    keys = {**N2, "maintenanceExclusion": "until-end-of-support"}
    inputs = declared_pool(keys).inputs("NodePool/more")

    assert inputs["maintenancePolicies"] == [{"exclusionUntilEndOfSupports": [{"enabled": True}]}]
    assert list(gke_document.problems("NodePool", with_integers(inputs))) == []
    assert in_class(keys)["nodePoolConfig"]["maintenanceExclusion"] == "UNTIL_END_OF_SUPPORT"


DEFAULTS = {"bootDiskKmsKey": KEY.format("all"), "resourceManagerTags": {"acme-ml/env": "prod"}}
LIMITS = {"cpu": {"max": 100}, "memory": {"max": 400}, "accelerators": {"nvidia-l4": {"max": 10}}}


def test_pools_inherit_the_clusters_key_and_tags() -> None:
    declared = declared_pool(
        {**N2, "bootDisk": {"kmsKey": KEY.format("own")}, "resourceManagerTags": {"acme-ml/team": "a"}},
        **DEFAULTS,
        nodeAutoProvisioning=LIMITS,
    )
    l4, more = (declared.inputs(f"NodePool/{name}")["nodeConfig"] for name in ("l4", "more"))
    cluster = declared.inputs("Cluster/ray")

    assert (l4["bootDiskKmsKey"], l4["resourceManagerTags"]) == (KEY.format("all"), {"acme-ml/env": "prod"})
    assert more["bootDiskKmsKey"] == KEY.format("own")
    assert more["resourceManagerTags"] == {"acme-ml/env": "prod", "acme-ml/team": "a"}
    defaults = cluster["clusterAutoscaling"]["autoProvisioningDefaults"]
    assert defaults["bootDiskKmsKey"] == KEY.format("all")
    assert cluster["nodePoolAutoConfig"]["resourceManagerTags"] == {"acme-ml/env": "prod"}
    assert list(gke_document.problems("Cluster", with_integers(cluster))) == []


def test_compute_engine_may_use_the_keys_before_nodes_start() -> None:
    declared = declared_pool(
        {**N2, "bootDisk": {"kmsKey": KEY.format("own")}}, bootDiskKmsKey=KEY.format("all")
    )
    grants = [declared.inputs(name) for name in declared.kinds("CryptoKeyIAMMember")]

    assert grants == [
        {
            "cryptoKeyId": key,
            "role": "roles/cloudkms.cryptoKeyEncrypterDecrypter",
            "member": "serviceAccount:service-1@compute-system.iam.gserviceaccount.com",
        }
        for key in (KEY.format("all"), KEY.format("own"))
    ]
    # Node pools follow the cluster, whose name they have.
    assert declared["Cluster/ray"].depends_on >= set(declared.kinds("CryptoKeyIAMMember"))


def test_access_to_another_projects_disk_key_is_not_granted() -> None:
    declared = declared_pool(N2, bootDiskKmsKey=KEY.format("all").replace("acme-ml", "acme-keys"))

    assert not declared.kinds("CryptoKeyIAMMember", "ServiceIdentity")


def test_pools_of_a_cluster_made_elsewhere_have_keys_of_their_own() -> None:
    pool = {**N2, "name": "more", "nodes": {"max": 4}, "bootDisk": {"kmsKey": KEY.format("own")}}
    cluster = {**EXISTING, "gke": {"location": "us-west1-b"}}
    config = {**GOOD, "muster:cluster": cluster, "muster:pools": [*GOOD["muster:pools"], pool]}
    declared = declare_platform(config)

    assert declared.inputs("NodePool/more")["nodeConfig"]["bootDiskKmsKey"] == KEY.format("own")
    assert declared["NodePool/more"].depends_on >= set(declared.kinds("CryptoKeyIAMMember")) != set()
