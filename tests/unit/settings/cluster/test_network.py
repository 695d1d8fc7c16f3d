"""Rules of the network, each with a violating and a valid stack."""

from typing import Any

import pytest

from settings.load import parse, warnings
from settings.model.foundation.cluster import Gke
from settings.model.foundation.network import gpu_networks
from tests.unit.settings.builders import EXISTING, FILE, GOOD, Case, refusal
from tests.unit.settings.pools.builders import GPUDIRECT_H100 as H100
from tests.unit.settings.pools.builders import GPUDIRECT_MEGA as MEGA

SYSTEM, L4 = GOOD["muster:pools"]


def with_network(*pools: dict[str, Any], **keys: object) -> dict[str, Any]:
    """Returns the valid stack with a network, changed by `keys`, and additional pools."""
    network = {"name": "ray", **keys}
    return {**GOOD, "muster:network": network, "muster:pools": [SYSTEM, L4, *pools]}


def with_cluster(config: dict[str, Any], **keys: object) -> dict[str, Any]:
    return {**config, "muster:cluster": GOOD["muster:cluster"] | keys}


HOST = "projects/acme-host/global/networks/shared"
SUBNET = "projects/acme-host/regions/us-west1/subnetworks/ray"
RANGES = {"podsRange": "ray-pods", "servicesRange": "ray-services"}


def shared(**keys: object) -> dict[str, Any]:
    """Returns the valid stack in a Shared VPC, changed by `keys`; None removes one."""
    cluster = {"network": HOST, "subnetwork": SUBNET, **RANGES, **keys}
    return with_cluster(GOOD, **{key: value for key, value in cluster.items() if value is not None})


BROKEN = [
    Case(
        "a Shared VPC without ranges for pods",
        shared(podsRange=None, servicesRange=None),
        "muster:cluster.podsRange",
        "nothing",
        "a secondary range of the subnet: GKE creates none in a Shared VPC (GKE, Shared VPC)",
        "add `podsRange` and `servicesRange`",
    ),
    Case(
        "a subnet of another project than its network",
        shared(subnetwork="projects/acme-ml/regions/us-west1/subnetworks/ray"),
        "muster:cluster.subnetwork",
        '"projects/acme-ml/regions/us-west1/subnetworks/ray"',
        "a subnet of project acme-host, as the network is (GKE, Shared VPC)",
        "write projects/acme-host/regions/us-west1/subnetworks/NAME",
    ),
    Case(
        "a range of Services only",
        with_cluster(GOOD, network="vpc", subnetwork="ray", servicesRange="ray-services"),
        "muster:cluster.podsRange",
        "nothing",
        "a range too, as `servicesRange` is set: GKE creates both or none (GKE API: IPAllocationPolicy)",
        "add it, or remove `servicesRange`",
    ),
    Case(
        "one range for pods and Services",
        shared(servicesRange="ray-pods"),
        "muster:cluster.servicesRange",
        '"ray-pods"',
        "a unique range name",
        "ray-pods is already in use; choose another name",
    ),
    Case(
        "the addresses of a range instead of its name",
        shared(podsRange="10.4.0.0/14"),
        "muster:cluster.podsRange",
        '"10.4.0.0/14"',
        "the name of a secondary range: 1 to 63 of a-z, 0-9 and '-', from a letter on (Compute Engine)",
        "write its name in the subnet, not its addresses",
    ),
    Case(
        "ranges of an existing subnet for a new one",
        with_cluster(with_network(), additionalPodsRanges=["more"]),
        "muster:cluster.additionalPodsRanges",
        '["more"]',
        "no value: `muster:network` has the cluster's ranges",
        "write it as `muster:network.subnet.additionalPods`",
    ),
    Case(
        "additional pods in the range of nodes",
        with_network(subnet={"additionalPods": {"more": "10.0.0.0/20"}}),
        "muster:network.subnet.additionalPods.more",
        '"10.0.0.0/20"',
        "a range that does not overlap 10.0.0.0/20 (VPC, subnets)",
        "choose another one, such as an unused part of 10.0.0.0/8",
    ),
    Case(
        "additional pods under the name of the first range",
        with_network(subnet={"additionalPods": {"pods": "10.16.0.0/16"}}),
        "muster:network.subnet.additionalPods.pods",
        '"10.16.0.0/16"',
        "a unique range name",
        "pods is already in use; choose another name",
    ),
    Case(
        "a network for an existing cluster",
        {**with_network(), "muster:cluster": EXISTING},
        "muster:network",
        '{"name": "ray"}',
        "no network: an existing cluster has its own",
        "remove `muster:network`, or write kind: gke in `muster:cluster`",
    ),
    Case(
        "two networks",
        with_cluster(with_network(), network="shared"),
        "muster:cluster.network",
        '"shared"',
        "no value: the cluster uses the network of `muster:network`",
        "remove `network`, or remove `muster:network` to use an existing network",
    ),
    Case(
        "a name too long for its suffixes",
        with_network(name="r" * 49),
        "muster:network.name",
        f'"{"r" * 49}"',
        "1 to 48 of a-z, 0-9 and '-', from a letter on, no '-' at the end",
        "rename it",
    ),
    Case(
        "a range in words",
        with_network(subnet={"pods": "big"}),
        "muster:network.subnet.pods",
        '"big"',
        "an IPv4 range",
        "write it in CIDR notation, such as 10.0.0.0/20",
    ),
    Case(
        "a range with host bits",
        with_network(subnet={"nodes": "10.0.0.1/20"}),
        "muster:network.subnet.nodes",
        '"10.0.0.1/20"',
        "an IPv4 range without host bits",
        "did you mean 10.0.0.0/20?",
    ),
    Case(
        "Services in the range of pods",
        with_network(subnet={"services": "10.4.0.0/20"}),
        "muster:network.subnet.services",
        '"10.4.0.0/20"',
        "a range that does not overlap 10.4.0.0/14 (VPC, subnets)",
        "choose another one, such as an unused part of 10.0.0.0/8",
    ),
    Case(
        "GPU traffic in the range of nodes",
        with_network(gpuTraffic="10.0.0.0/16"),
        "muster:network.gpuTraffic",
        '"10.0.0.0/16"',
        "a range that does not overlap 10.0.0.0/20 (VPC, subnets)",
        "choose another one, such as an unused part of 10.0.0.0/8",
    ),
    Case(
        "too few addresses for nodes",
        with_network(subnet={"nodes": "10.0.0.0/28"}),
        "muster:network.subnet.nodes",
        '"10.0.0.0/28"',
        "room for the 13 nodes that the pools may have; this range has 12 addresses (VPC, subnets)",
        "write a /27 or a larger range",
    ),
    Case(
        "too few addresses for pods",
        with_network(subnet={"pods": "10.4.0.0/21"}),
        "muster:network.subnet.pods",
        '"10.4.0.0/21"',
        "at least 3328 addresses for the 13 nodes that the pools may have: each takes twice its pods,"
        " rounded up to a power of two (GKE, VPC-native clusters)",
        "write a /20 or a larger range, or lower the pools' maxPodsPerNode",
    ),
    Case(
        "GPUDirect in an existing network",
        {key: value for key, value in with_network(H100).items() if key != "muster:network"},
        "muster:pools[2].gpudirect",
        '"tcpx"',
        "`muster:network` in addition, as the stack must create 4 networks for GPU traffic (GKE, GPUDirect)",
        "add `muster:network: {name: …}`, or remove `gpudirect`",
    ),
    Case(
        "GPUDirect without Dataplane V2",
        with_cluster(with_network(H100), dataplaneV2=False) | {"muster:tenants": []},
        "muster:cluster.dataplaneV2",
        "false",
        "true: GPUDirect requires multi-networking, which requires Dataplane V2 (GKE)",
        "write true, or remove `gpudirect` from the pools",
    ),
    Case(
        "too few addresses for GPU traffic",
        with_network(H100, MEGA, gpuTraffic="192.168.0.0/26"),
        "muster:network.gpuTraffic",
        '"192.168.0.0/26"',
        "a range whose eight parts each have room for the 8 nodes with GPUDirect (VPC, subnets)",
        "write a /25 or a larger range",
    ),
]


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_stack_that_breaks_a_network_rule_is_refused(case: Case) -> None:
    assert refusal(case.config) == case.message


KEPT: dict[str, dict[str, Any]] = {
    "a new network": with_network(),
    "an existing network": with_cluster(GOOD, network="shared", subnetwork="ray"),
    "as many addresses as nodes": with_network(subnet={"nodes": "10.0.0.0/27", "pods": "10.4.0.0/20"}),
    "fewer addresses for fewer pods": with_network(subnet={"pods": "10.4.0.0/21"})
    | {"muster:pools": [pool | {"maxPodsPerNode": 32} for pool in (SYSTEM, L4)]},
    "GPUDirect": with_network(H100),
    "as many addresses as GPUDirect has nodes": with_network(H100, MEGA, gpuTraffic="192.168.0.0/25"),
}


@pytest.mark.parametrize("config", KEPT.values(), ids=KEPT.keys())
def test_stack_that_keeps_a_network_rule_is_accepted(config: dict[str, Any]) -> None:
    assert isinstance(parse(config, FILE).cluster, Gke)


@pytest.mark.parametrize(("pools", "networks"), [([], 0), ([H100], 4), ([MEGA], 8), ([H100, MEGA], 8)])
def test_pools_share_the_most_networks_that_one_needs(pools: list[dict[str, Any]], networks: int) -> None:
    assert gpu_networks(parse(with_network(*pools), FILE).pools) == networks


NO_NAT = (
    "without a NAT, private nodes can pull images from Artifact Registry only (Private Google Access), not "
    "KubeRay's from quay.io, Kueue's from registry.k8s.io or Ray's from Docker Hub. {}, or mirror the images "
    "to a registry of your own\n  source: GKE, private nodes"
)
# The stack -> the warnings it gets.
IMAGES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "private nodes in an existing network": (
        GOOD,
        [
            "muster:cluster.privateNodes\n  given:  nothing\n  why:    "
            + NO_NAT.format("Add `muster:network`, create a NAT in the existing network")
        ],
    ),
    "private nodes without a NAT": (
        with_network(nat=False),
        ["muster:network.nat\n  given:  false\n  why:    " + NO_NAT.format("Write nat: true")],
    ),
    "private nodes with a NAT": (with_network(), []),
    "public nodes": (with_cluster(GOOD, privateNodes=False), []),
    "an existing cluster": ({**GOOD, "muster:cluster": EXISTING}, []),
}


@pytest.mark.parametrize(("config", "expected"), IMAGES.values(), ids=IMAGES.keys())
def test_user_is_warned_of_images_that_private_nodes_cannot_pull(
    config: dict[str, Any], expected: list[str]
) -> None:
    assert warnings(parse(config, FILE)) == expected
