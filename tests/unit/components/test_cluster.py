"""The cluster and its node pools: what GKE is asked for."""

import json
from typing import Any

import pytest

from tests.unit.components.harness import declare_platform
from tests.unit.stacks.builders import EXISTING, GOOD, L4, put

QUEUED_L4 = {
    "autoscaling": {"locationPolicy": "ANY", "minNodeCount": 0, "maxNodeCount": 10},
    "cluster": "ray",
    "initialNodeCount": 0,
    "location": "us-west1-b",
    "name": "l4",
    "nodeConfig": {
        "guestAccelerators": [
            {
                "count": 1,
                "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"},
                "type": "nvidia-l4",
            }
        ],
        "machineType": "g2-standard-4",
        "reservationAffinity": {"consumeReservationType": "NO_RESERVATION"},
        "workloadMetadataConfig": {"mode": "GKE_METADATA"},
    },
    "project": "acme-ml",
    "queuedProvisioning": {"enabled": True},
}
SYSTEM = {
    "autoscaling": {"locationPolicy": "BALANCED", "minNodeCount": 1, "maxNodeCount": 3},
    "cluster": "ray",
    "initialNodeCount": 1,
    "location": "us-west1-b",
    "management": {"autoRepair": True, "autoUpgrade": True},
    "name": "system",
    "nodeConfig": {
        "machineType": "e2-standard-4",
        "workloadMetadataConfig": {"mode": "GKE_METADATA"},
    },
    "project": "acme-ml",
}


def test_a_zonal_cluster() -> None:
    declared = declare_platform(GOOD)

    assert declared.inputs("Cluster/ray") == {
        "datapathProvider": "ADVANCED_DATAPATH",
        "deletionProtection": True,
        "initialNodeCount": 1,
        "ipAllocationPolicy": {},
        "location": "us-west1-b",
        "minMasterVersion": "1.36",
        "name": "ray",
        "network": "default",
        "networkingMode": "VPC_NATIVE",
        "project": "acme-ml",
        "releaseChannel": {"channel": "REGULAR"},
        "removeDefaultNodePool": True,
        "resourceLabels": {},
        "subnetwork": "default",
        "workloadIdentityConfig": {"workloadPool": "acme-ml.svc.id.goog"},
    }


# Name of the case -> the stack, the pool, and all its inputs.
POOLS: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "the queued L4 pool of the guide": (GOOD, "l4", QUEUED_L4),
    "a system pool": (GOOD, "system", SYSTEM),
    "a regional queued pool is limited in all, not by zone": (
        put("muster:cluster", "location", "us-west1"),
        "l4",
        QUEUED_L4
        | {
            "autoscaling": {"locationPolicy": "ANY", "totalMinNodeCount": 0, "totalMaxNodeCount": 10},
            "location": "us-west1",
        },
    ),
    "a regional pool starts with a node a zone at most": (
        put("muster:cluster", "location", "us-west1")
        | {
            "muster:pools": [
                GOOD["muster:pools"][0] | {"nodes": {"min": 3, "max": 6}},
                GOOD["muster:pools"][1],
            ]
        },
        "system",
        SYSTEM
        | {
            "autoscaling": {"locationPolicy": "BALANCED", "totalMinNodeCount": 3, "totalMaxNodeCount": 6},
            "location": "us-west1",
        },
    ),
    "the initial count as written": (
        put("muster:pools", 0, "nodes", {"min": 0, "max": 1, "initial": 1}),
        "system",
        SYSTEM | {"autoscaling": {"locationPolicy": "BALANCED", "minNodeCount": 0, "maxNodeCount": 1}},
    ),
    "a spot pool asks for its taint and takes any zone": (
        put(*L4, "provisioning", "spot"),
        "l4",
        {
            **{key: value for key, value in QUEUED_L4.items() if key != "queuedProvisioning"},
            "management": {"autoRepair": True, "autoUpgrade": True},
            "nodeConfig": {
                **QUEUED_L4["nodeConfig"],  # type: ignore[dict-item]  # a mapping, in a mapping of objects
                "spot": True,
                "taints": [{"key": "cloud.google.com/gke-spot", "value": "true", "effect": "NO_SCHEDULE"}],
            },
        },
    ),
}


@pytest.mark.parametrize(("config", "pool", "inputs"), POOLS.values(), ids=POOLS.keys())
def test_node_pools(config: dict[str, Any], pool: str, inputs: dict[str, Any]) -> None:
    assert declare_platform(config).inputs(f"NodePool/{pool}") == inputs


def test_the_autoscaler_owns_node_counts() -> None:
    assert declare_platform(GOOD)["NodePool/l4"].ignore_changes == ("initialNodeCount", "nodeCount")


def test_gpu_pools_wait_for_those_without() -> None:
    declared = declare_platform(GOOD)

    assert "NodePool/system" in declared["NodePool/l4"].depends_on
    assert "NodePool/l4" not in declared["NodePool/system"].depends_on


@pytest.mark.parametrize("protected", [True, False])
def test_deletion_protection_reaches_cluster_and_namespaces(protected: bool) -> None:
    declared = declare_platform(put("muster:cluster", "deletionProtection", protected))

    assert declared["Cluster/ray"].protect is protected
    assert declared.inputs("Cluster/ray")["deletionProtection"] is protected
    assert declared["Namespace/team-a"].protect is protected


def test_the_ray_add_on_comes_with_the_cluster() -> None:
    declared = declare_platform(put("muster:kuberay", {"install": "addon"}))

    assert declared.inputs("Cluster/ray")["addonsConfig"] == {"rayOperatorConfigs": [{"enabled": True}]}
    assert not declared.kinds("Release")


def test_the_provider_reaches_the_cluster_without_credentials() -> None:
    provider = declare_platform(GOOD)["kubernetes/kubernetes"]
    kubeconfig = json.loads(provider.inputs["kubeconfig"])

    assert provider.inputs["clusterIdentifier"] == "ray-id"
    assert kubeconfig["clusters"][0]["cluster"] == {
        "server": "https://203.0.113.7",
        "certificate-authority-data": "Y2E=",
    }
    assert kubeconfig["users"][0]["user"]["exec"]["command"] == "gke-gcloud-auth-plugin"


@pytest.mark.parametrize("context", [None, "kind-ray"])
def test_an_existing_cluster_is_only_reached(context: str | None) -> None:
    cluster = EXISTING | ({"context": context} if context else {})
    declared = declare_platform({**GOOD, "muster:cluster": cluster})

    assert not declared.kinds("Cluster", "NodePool", "gcp")
    assert declared.inputs("kubernetes/kubernetes") == ({"context": context} if context else {})
