"""Rules of the network: each broken, with the whole message, and each kept."""

from typing import Any

import pytest

from settings.load import parse, warnings
from settings.model.foundation.cluster import Gke
from settings.model.foundation.network import gpu_networks
from tests.unit.settings.builders import EXISTING, FILE, GOOD, Case, refusal
from tests.unit.settings.pool_builders import GPUDIRECT_H100 as H100
from tests.unit.settings.pool_builders import GPUDIRECT_MEGA as MEGA

SYSTEM, L4 = GOOD["muster:pools"]


def with_network(*pools: dict[str, Any], **keys: object) -> dict[str, Any]:
    """The good stack with a network of its own, changed by `keys`, and `pools` beside its own."""
    network = {"name": "ray", **keys}
    return {**GOOD, "muster:network": network, "muster:pools": [SYSTEM, L4, *pools]}


def with_cluster(config: dict[str, Any], **keys: object) -> dict[str, Any]:
    return {**config, "muster:cluster": GOOD["muster:cluster"] | keys}


BROKEN = [
    Case(
        "a network for a cluster that runs already",
        {**with_network(), "muster:cluster": EXISTING},
        "muster:network",
        '{"name": "ray"}',
        "no network: the cluster runs already, and its network with it",
        "remove `muster:network`, or write kind: gke in `muster:cluster`",
    ),
    Case(
        "two networks",
        with_cluster(with_network(), network="shared"),
        "muster:cluster.network",
        '"shared"',
        "nothing: the cluster is in the network of `muster:network`",
        "remove `network`, or `muster:network` to use a network that exists",
    ),
    Case(
        "a name too long for what is appended",
        with_network(name="r" * 49),
        "muster:network.name",
        f'"{"r" * 49}"',
        "1 to 48 of a-z, 0-9 and '-', from a letter to a letter or digit",
        "choose such a name",
    ),
    Case(
        "a range in words",
        with_network(subnet={"pods": "big"}),
        "muster:network.subnet.pods",
        '"big"',
        "a range of IPv4 addresses",
        "write its first address and its size, such as 10.0.0.0/20",
    ),
    Case(
        "a range that begins in its middle",
        with_network(subnet={"nodes": "10.0.0.1/20"}),
        "muster:network.subnet.nodes",
        '"10.0.0.1/20"',
        "a range of IPv4 addresses that begins with its first one",
        "did you mean 10.0.0.0/20?",
    ),
    Case(
        "services among the pods",
        with_network(subnet={"services": "10.4.0.0/20"}),
        "muster:network.subnet.services",
        '"10.4.0.0/20"',
        "a range apart from 10.4.0.0/14 (VPC, subnets)",
        "choose another one, such as a part of 10.0.0.0/8 that nothing else uses",
    ),
    Case(
        "GPU traffic among the nodes",
        with_network(gpuTraffic="10.0.0.0/16"),
        "muster:network.gpuTraffic",
        '"10.0.0.0/16"',
        "a range apart from 10.0.0.0/20 (VPC, subnets)",
        "choose another one, such as a part of 10.0.0.0/8 that nothing else uses",
    ),
    Case(
        "too few addresses for nodes",
        with_network(subnet={"nodes": "10.0.0.0/28"}),
        "muster:network.subnet.nodes",
        '"10.0.0.0/28"',
        "room for the 13 nodes that the pools may have; this holds 12 (VPC, subnets)",
        "write a /27 or a larger range",
    ),
    Case(
        "too few addresses for pods",
        with_network(subnet={"pods": "10.4.0.0/21"}),
        "muster:network.subnet.pods",
        '"10.4.0.0/21"',
        "3328 addresses or more for the 13 nodes that the pools may have: each takes twice its pods, rounded "
        "up to a power of two (GKE, VPC-native clusters)",
        "write a /20 or a larger range, or lower the pools' maxPodsPerNode",
    ),
    Case(
        "GPUDirect in a network of others",
        {key: value for key, value in with_network(H100).items() if key != "muster:network"},
        "muster:pools[2].gpudirect",
        '"tcpx"',
        "a network of the stack's own beside it, which the 4 networks for GPU traffic belong to "
        "(GKE, GPUDirect)",
        "add `muster:network: {name: …}`, or remove `gpudirect`",
    ),
    Case(
        "GPUDirect without Dataplane V2",
        with_cluster(with_network(H100), dataplaneV2=False) | {"muster:tenants": []},
        "muster:cluster.dataplaneV2",
        "false",
        "true: GPUDirect's interfaces need multi-networking, and that Dataplane V2 (GKE)",
        "write true, or remove `gpudirect` from the pools",
    ),
    Case(
        "too few addresses for GPU traffic",
        with_network(H100, MEGA, gpuTraffic="192.168.0.0/26"),
        "muster:network.gpuTraffic",
        '"192.168.0.0/26"',
        "eight parts with room for the 8 nodes with GPUDirect each (VPC, subnets)",
        "write a /25 or a larger range",
    ),
]


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_broken(case: Case) -> None:
    assert refusal(case.config) == case.message


KEPT: dict[str, dict[str, Any]] = {
    "a network of its own": with_network(),
    "a network that exists": with_cluster(GOOD, network="shared", subnetwork="ray"),
    "as many addresses as nodes": with_network(subnet={"nodes": "10.0.0.0/27", "pods": "10.4.0.0/20"}),
    "fewer addresses for fewer pods": with_network(subnet={"pods": "10.4.0.0/21"})
    | {"muster:pools": [pool | {"maxPodsPerNode": 32} for pool in (SYSTEM, L4)]},
    "GPUDirect": with_network(H100),
    "as many addresses as GPUDirect has nodes": with_network(H100, MEGA, gpuTraffic="192.168.0.0/25"),
}


@pytest.mark.parametrize("config", KEPT.values(), ids=KEPT.keys())
def test_kept(config: dict[str, Any]) -> None:
    assert isinstance(parse(config, FILE).cluster, Gke)


@pytest.mark.parametrize(("pools", "networks"), [([], 0), ([H100], 4), ([MEGA], 8), ([H100, MEGA], 8)])
def test_pools_share_as_many_networks_as_the_widest_needs(pools: list[dict[str, Any]], networks: int) -> None:
    assert gpu_networks(parse(with_network(*pools), FILE).pools) == networks


NO_NAT = (
    "without a NAT, private nodes pull images from Artifact Registry only, by Private Google Access: not "
    "KubeRay's from quay.io, Kueue's from registry.k8s.io or Ray's from Docker Hub. {}, or have the images "
    "in a registry of your own\n  source: GKE, private nodes"
)
# The stack -> the warnings it gets.
IMAGES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "private nodes in a network of others": (
        GOOD,
        [
            "muster:cluster.privateNodes\n  given:  nothing\n  why:    "
            + NO_NAT.format("Add `muster:network`, see to a NAT in the network that there is")
        ],
    ),
    "private nodes without a NAT": (
        with_network(nat=False),
        ["muster:network.nat\n  given:  false\n  why:    " + NO_NAT.format("Write nat: true")],
    ),
    "private nodes with a NAT": (with_network(), []),
    "public nodes": (with_cluster(GOOD, privateNodes=False), []),
    "a cluster that runs already": ({**GOOD, "muster:cluster": EXISTING}, []),
}


@pytest.mark.parametrize(("config", "told"), IMAGES.values(), ids=IMAGES.keys())
def test_private_nodes_may_not_pull_images(config: dict[str, Any], told: list[str]) -> None:
    assert warnings(parse(config, FILE)) == told
