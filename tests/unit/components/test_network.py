"""The stack's networks: for its cluster, and for traffic between GPUs."""

from typing import Any

import pytest

from tests.unit.components.harness import Declarations, declare_platform
from tests.unit.settings.builders import GOOD
from tests.unit.settings.pools.builders import GPUDIRECT_H100 as H100
from tests.unit.settings.pools.builders import GPUDIRECT_MEGA as MEGA

PROJECT = {"project": "acme-ml"}
PLACE = {**PROJECT, "region": "us-west1"}


def with_network(*pools: dict[str, Any], **keys: object) -> Declarations:
    """Returns the resources of the good stack with its own network and additional `pools`."""
    network = {"name": "ray", **keys}
    return declare_platform(
        {**GOOD, "muster:network": network, "muster:pools": [*GOOD["muster:pools"], *pools]}
    )


def test_the_network_has_a_subnet_with_secondary_ranges_and_nat() -> None:
    declared = with_network()

    assert declared.inputs("Network/ray") == {
        **PROJECT,
        "name": "ray",
        "autoCreateSubnetworks": False,
        "routingMode": "REGIONAL",
    }
    assert declared.inputs("Subnetwork/ray") == {
        **PLACE,
        "name": "ray",
        "network": "ray-id",
        "ipCidrRange": "10.0.0.0/20",
        "secondaryIpRanges": [
            {"rangeName": "pods", "ipCidrRange": "10.4.0.0/14"},
            {"rangeName": "services", "ipCidrRange": "10.8.0.0/20"},
        ],
        "privateIpGoogleAccess": True,
        "logConfig": {"metadata": "INCLUDE_ALL_METADATA"},
    }
    assert declared.inputs("Router/ray-nat") == {**PLACE, "name": "ray-nat", "network": "ray-id"}
    assert declared.inputs("RouterNat/ray-nat") == {
        **PLACE,
        "name": "ray-nat",
        "router": "ray-nat",
        "natIpAllocateOption": "AUTO_ONLY",
        "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES",
        "enableDynamicPortAllocation": True,
        "enableEndpointIndependentMapping": False,
        "logConfig": {"enable": True, "filter": "ERRORS_ONLY"},
    }


def test_ranges_of_an_adopted_network_keep_their_names() -> None:
    subnet = {"podsRange": "gke-pods", "servicesRange": "gke-svc", "additionalPods": {"more": "10.16.0.0/16"}}
    declared = declare_platform({**GOOD, "muster:network": {"name": "ray", "subnet": subnet}})
    assert declared.inputs("Subnetwork/ray")["secondaryIpRanges"] == [
        {"rangeName": "gke-pods", "ipCidrRange": "10.4.0.0/14"},
        {"rangeName": "gke-svc", "ipCidrRange": "10.8.0.0/20"},
        {"rangeName": "more", "ipCidrRange": "10.16.0.0/16"},
    ]
    assert declared.inputs("Cluster/ray")["ipAllocationPolicy"] == {
        "clusterSecondaryRangeName": "gke-pods",
        "servicesSecondaryRangeName": "gke-svc",
        "additionalPodRangesConfig": {"podRangeNames": ["more"]},
    }


def test_gkes_agents_may_use_the_subnet_of_a_shared_vpc() -> None:
    cluster = {
        "network": "projects/acme-host/global/networks/shared",
        "subnetwork": "projects/acme-host/regions/us-west1/subnetworks/ray",
        "podsRange": "ray-pods",
        "servicesRange": "ray-services",
    }
    declared = declare_platform({**GOOD, "muster:cluster": GOOD["muster:cluster"] | cluster})
    users = declared.kinds("SubnetworkIAMMember")
    assert {declared.inputs(user)["member"] for user in users} == {
        "serviceAccount:service-1@container-engine-robot.iam.gserviceaccount.com",
        "serviceAccount:1@cloudservices.gserviceaccount.com",
    }
    place = {"project": "acme-host", "region": "us-west1", "subnetwork": "ray"}
    assert [declared.inputs(user)[key] for user in users for key in place] == [*place.values()] * 2
    assert declared.inputs("IAMMember/host-agent")["role"] == "roles/container.hostServiceAgentUser"
    assert declared["Cluster/ray"].depends_on >= {*users, "IAMMember/host-agent"}

    config = {**GOOD, "muster:cluster": GOOD["muster:cluster"] | cluster | {"hostRoles": False}}
    assert not declare_platform(config).kinds("SubnetworkIAMMember")


def test_the_cluster_is_in_it_and_waits_for_it() -> None:
    declared = with_network()
    cluster = declared["Cluster/ray"]

    assert (cluster.inputs["network"], cluster.inputs["subnetwork"]) == ("ray", "ray")
    assert cluster.inputs["ipAllocationPolicy"] == {
        "clusterSecondaryRangeName": "pods",
        "servicesSecondaryRangeName": "services",
    }
    # Nodes that start before the NAT cannot pull their images.
    assert cluster.depends_on >= {"Network/ray", "Subnetwork/ray", "RouterNat/ray-nat"}


def test_nat_and_flow_logs_can_be_turned_off() -> None:
    declared = with_network(nat=False, flowLogs=False)

    assert not declared.kinds("Router", "RouterNat")
    assert "logConfig" not in declared.inputs("Subnetwork/ray")


@pytest.mark.parametrize("protected", [True, False])
def test_the_network_is_protected_as_the_cluster_is(protected: bool) -> None:
    cluster = GOOD["muster:cluster"] | {"deletionProtection": protected}
    declared = declare_platform({**GOOD, "muster:cluster": cluster, "muster:network": {"name": "ray"}})

    assert declared["Network/ray"].protect is protected
    assert declared["Subnetwork/ray"].protect is protected
    assert declared["RouterNat/ray-nat"].protect is False


def test_an_existing_network_is_not_declared() -> None:
    assert not declare_platform(GOOD).kinds("Network", "Subnetwork", "Router", "RouterNat", "Firewall")


# Name of the case -> the pools, and the number of GPU networks that they need.
GPUDIRECT: dict[str, tuple[list[dict[str, Any]], int]] = {
    "no GPUDirect": ([], 0),
    "TCPX": ([H100], 4),
    "TCPXO": ([MEGA], 8),
    "both": ([H100, MEGA], 8),
}


@pytest.mark.parametrize(("pools", "count"), GPUDIRECT.values(), ids=GPUDIRECT.keys())
def test_networks_for_gpu_traffic(pools: list[dict[str, Any]], count: int) -> None:
    declared = with_network(*pools)
    names = [f"ray-gpu-{number}" for number in range(1, count + 1)]

    assert {name for name in declared.kinds("Subnetwork") if "gpu" in name} == {
        f"Subnetwork/{name}" for name in names
    }
    assert set(declared.kinds("Firewall")) == {f"Firewall/{name}-internal" for name in names}
    assert set(declared.kinds("GKENetworkParamSet")) == {
        f"GKENetworkParamSet/gpu-{number}" for number in range(1, count + 1)
    }
    assert declared.inputs("Cluster/ray")["enableMultiNetworking"] is bool(count)


def test_a_gpu_network_has_one_subnet_and_a_firewall() -> None:
    declared = with_network(H100, gpuTraffic="192.168.0.0/16")

    assert declared.inputs("Network/ray-gpu-2") == {
        **PROJECT,
        "name": "ray-gpu-2",
        "autoCreateSubnetworks": False,
        "mtu": 8244,
    }
    assert declared.inputs("Subnetwork/ray-gpu-2") == {
        **PLACE,
        "name": "ray-gpu-2",
        "network": "ray-gpu-2-id",
        "ipCidrRange": "192.168.32.0/19",
        "logConfig": {"metadata": "INCLUDE_ALL_METADATA"},
    }
    assert declared.inputs("Firewall/ray-gpu-2-internal") == {
        **PROJECT,
        "name": "ray-gpu-2-internal",
        "network": "ray-gpu-2-id",
        "sourceRanges": ["192.168.32.0/19"],
        "allows": [{"protocol": "tcp"}, {"protocol": "udp"}, {"protocol": "icmp"}],
    }


def test_pods_name_gpu_networks_by_gkes_objects() -> None:
    declared = with_network(H100)
    network, parameters = declared["Network/gpu-2"], declared["GKENetworkParamSet/gpu-2"]

    assert network.inputs["spec"] == {
        "type": "Device",
        "parametersRef": {"group": "networking.gke.io", "kind": "GKENetworkParamSet", "name": "gpu-2"},
    }
    assert parameters.inputs["spec"] == {
        "vpc": "ray-gpu-2",
        "vpcSubnet": "ray-gpu-2",
        "deviceMode": "NetDevice",
    }
    assert "GKENetworkParamSet/gpu-2" in network.depends_on
    assert "Cluster/ray" in parameters.depends_on


@pytest.mark.parametrize(("pool", "count"), [(H100, 4), (MEGA, 8)], ids=["TCPX", "TCPXO"])
def test_nodes_have_as_many_interfaces_as_their_machine(pool: dict[str, Any], count: int) -> None:
    declared = with_network(H100, MEGA)

    assert declared.inputs(f"NodePool/{pool['name']}")["networkConfig"] == {
        "additionalNodeNetworkConfigs": [
            {"network": f"ray-gpu-{number}", "subnetwork": f"ray-gpu-{number}"}
            for number in range(1, count + 1)
        ]
    }
