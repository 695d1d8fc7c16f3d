"""Rules of the network: address ranges, GPU traffic, and access to the internet."""

from collections.abc import Iterator
from ipaddress import IPv4Network
from itertools import combinations

from settings.facts.tables import table
from settings.model.foundation.cluster import Gke
from settings.model.foundation.existing import Existing
from settings.model.foundation.network import Network, gpu_networks
from settings.model.google_cloud import SUBNETWORK
from settings.model.pools.pool import PODS_PER_NODE, Pool
from settings.model.stack import Settings
from settings.problems import Doubt, Finding, Path
from settings.rules.names import unique
from settings.rules.registry import doubt, rule

NETWORK = "muster:network"
RESERVED = {
    IPv4Network(text): why
    for text, why in {
        "0.0.0.0/8": "this host and network (VPC, prohibited ranges)",
        "127.0.0.0/8": "loopback addresses (VPC, prohibited ranges)",
        "169.254.0.0/16": "link-local addresses, such as the metadata server's (VPC, prohibited ranges)",
        "172.17.0.0/16": "the Docker bridge of the nodes (GKE, VPC-native clusters)",
        "199.36.153.4/30": "restricted.googleapis.com (VPC, prohibited ranges)",
        "199.36.153.8/30": "private.googleapis.com (VPC, prohibited ranges)",
        **dict.fromkeys(
            table("google_ranges").facts["prohibited"],
            "a public service of Google, such as its DNS (VPC, prohibited ranges)",
        ),
        "224.0.0.0/4": "multicast (VPC, prohibited ranges)",
        "255.255.255.255/32": "broadcasts (VPC, prohibited ranges)",
    }.items()
}
# Longest and shortest prefix; GKE, "VPC-native clusters" (pods, Services) and VPC, "Subnets". A long one for
# nodes has no room for them (network.ranges_hold_the_nodes).
SIZES = {"nodes": (32, 4), "pods": (28, 9), "services": (28, 16)}
# The first two and the last two addresses of each subnet (VPC, "Subnets").
RESERVED_ADDRESSES = 4


@rule("network", "cluster")
def network_has_a_cluster(settings: Settings) -> Iterator[Finding]:
    """A network that the stack creates is that of a cluster that the stack creates, and its only one (GKE
    API: Cluster.network)."""
    if settings.network and isinstance(settings.cluster, Existing):
        yield Finding(
            (NETWORK,),
            "no network: an existing cluster has its own",
            f"remove `{NETWORK}`, or write kind: gke in `muster:cluster`",
        )
    if settings.network and isinstance(settings.cluster, Gke):
        for key in ("network", "subnetwork"):
            if getattr(settings.cluster, key):
                yield Finding(
                    ("muster:cluster", key),
                    f"no value: the cluster uses the network of `{NETWORK}`",
                    f"remove `{key}`, or remove `{NETWORK}` to use an existing network",
                )


@rule("network", "cluster")
def subnet_belongs_to_the_network(settings: Settings) -> Iterator[Finding]:
    """A subnet is named together with its network, and is in the cluster's region (GKE API:
    Cluster.subnetwork)."""
    cluster = settings.cluster
    if not isinstance(cluster, Gke) or cluster.subnetwork is None:
        return
    if not cluster.network and not settings.network:
        yield Finding(
            ("muster:cluster", "subnetwork"),
            "a subnet of `network`, which is not set (GKE API: Cluster.network)",
            "add `network`, or remove `subnetwork`",
        )
    path = SUBNETWORK.fullmatch(cluster.subnetwork)
    if path and path["region"] not in (None, cluster.region):
        yield Finding(
            ("muster:cluster", "subnetwork"),
            f"a subnet in {cluster.region}, where the cluster is (GKE API: Cluster.subnetwork)",
            "choose one there",
        )


@rule("network", "cluster")
def ranges_are_named_in_their_subnet(settings: Settings) -> Iterator[Finding]:
    """Secondary ranges of an existing subnet are named together with it; a network that the stack creates has
    its ranges in `muster:network.subnet` (GKE API: IPAllocationPolicy)."""
    cluster = settings.cluster
    if not isinstance(cluster, Gke):
        return
    named = {"podsRange": cluster.pods_range, "servicesRange": cluster.services_range}
    keys = {**named, "additionalPodsRanges": cluster.additional_pods_ranges}
    for key in (key for key, name in keys.items() if name):
        if settings.network:
            own = "additionalPods" if key == "additionalPodsRanges" else key
            yield Finding(
                ("muster:cluster", key),
                f"no value: `{NETWORK}` has the cluster's ranges",
                f"write it as `{NETWORK}.subnet.{own}`",
            )
        elif not cluster.subnetwork:
            yield Finding(
                ("muster:cluster", key),
                "a range of `subnetwork`, which is not set (GKE API: IPAllocationPolicy)",
                "add `subnetwork`",
            )
    for key, other in (("podsRange", "servicesRange"), ("servicesRange", "podsRange")):
        if named[key] and not named[other] and not settings.network:
            yield Finding(
                ("muster:cluster", other),
                f"a range too, as `{key}` is set: GKE creates both or none (GKE API: IPAllocationPolicy)",
                f"add it, or remove `{key}`",
            )


@rule("network", "cluster")
def ranges_have_different_names(settings: Settings) -> Iterator[Finding]:
    """Pods, Services and additional pods have different ranges (Compute Engine, secondary ranges)."""
    cluster, network = settings.cluster, settings.network
    if not isinstance(cluster, Gke):
        return
    place: Path = (NETWORK, "subnet") if network else ("muster:cluster",)
    owner = network.subnet if network else cluster
    names = [((*place, "podsRange"), owner.pods_range), ((*place, "servicesRange"), owner.services_range)]
    for name in network.subnet.additional_pods if network else ():
        names.append((("muster:network", "subnet", "additionalPods", name), name))
    more = cluster.additional_pods_ranges
    names += [(("muster:cluster", "additionalPodsRanges", i), name) for i, name in enumerate(more)]
    yield from unique(((path, name) for path, name in names if name), "range name")


@rule("cluster", "project")
def shared_networks_are_prepared(settings: Settings) -> Iterator[Finding]:
    """A cluster in the network of another project names its subnet there by its path, and the ranges that
    GKE may not create (GKE, "Set up clusters with Shared VPC")."""
    cluster = settings.cluster
    if not isinstance(cluster, Gke):
        return
    subnet = SUBNETWORK.fullmatch(cluster.subnetwork or "")
    host, host_of_subnet = cluster.host_project, subnet["project"] if subnet else None
    if host is None and cluster.network and host_of_subnet not in (None, settings.project):
        yield Finding(
            ("muster:cluster", "network"),
            f"a network of project {host_of_subnet}, as the subnet is (GKE, Shared VPC)",
            f"write projects/{host_of_subnet}/global/networks/{cluster.network}",
        )
    if host in (None, settings.project):
        return
    if host_of_subnet != host:
        yield Finding(
            ("muster:cluster", "subnetwork"),
            f"a subnet of project {host}, as the network is (GKE, Shared VPC)",
            f"write projects/{host}/regions/{cluster.region}/subnetworks/NAME",
        )
    if cluster.pods_range is None and cluster.services_range is None:
        yield Finding(
            ("muster:cluster", "podsRange"),
            "a secondary range of the subnet: GKE creates none in a Shared VPC (GKE, Shared VPC)",
            "add `podsRange` and `servicesRange`",
        )


def ranges(network: Network) -> Iterator[tuple[Path, IPv4Network]]:
    """Yields the ranges of a network, each with its path."""
    for key in SIZES:
        yield (NETWORK, "subnet", key), IPv4Network(getattr(network.subnet, key))
    for name, text in network.subnet.additional_pods.items():
        yield (NETWORK, "subnet", "additionalPods", name), IPv4Network(text)
    yield (NETWORK, "gpuTraffic"), IPv4Network(network.gpu_traffic)


@rule("network")
def ranges_are_not_reserved(settings: Settings) -> Iterator[Finding]:
    """No range of the network overlaps ranges that VPC prohibits or that nodes use themselves (VPC,
    "Subnets"; GKE, VPC-native clusters)."""
    for path, network in ranges(settings.network) if settings.network else ():
        for reserved, why in RESERVED.items():
            if network.overlaps(reserved):
                yield Finding(
                    path,
                    f"a range that does not overlap {reserved}, which is for {why}",
                    "choose another one, such as an unused part of 10.0.0.0/8",
                )
                break


@rule("network")
def ranges_have_accepted_sizes(settings: Settings) -> Iterator[Finding]:
    """The ranges of the cluster's subnet have sizes that VPC and GKE accept (GKE, VPC-native clusters)."""
    if settings.network is None:
        return
    for path, network in ranges(settings.network):
        key = "pods" if "additionalPods" in path else str(path[-1])
        longest, shortest = SIZES.get(key, (32, 0))
        if not shortest <= network.prefixlen <= longest:
            yield Finding(
                path,
                f"a range from /{longest} to /{shortest} for {key} (GKE, VPC-native clusters)",
                f"write a /{longest if network.prefixlen > longest else shortest}",
            )


@rule("network")
def ranges_are_apart(settings: Settings) -> Iterator[Finding]:
    """Ranges of one VPC do not overlap, nor do subnets in which a node has several interfaces (VPC,
    "Subnets")."""
    if settings.network is None:
        return
    for (_, range_), (path, other) in combinations(ranges(settings.network), 2):
        if range_.overlaps(other):
            yield Finding(
                path,
                f"a range that does not overlap {range_} (VPC, subnets)",
                "choose another one, such as an unused part of 10.0.0.0/8",
            )


@rule("network", "pools")
def ranges_hold_the_nodes(settings: Settings) -> Iterator[Finding]:
    """All nodes that the pools may have fit: each takes one address of the subnet, and a block from the
    range for pods (GKE, VPC-native clusters)."""
    if settings.network is None:
        return
    nodes = sum(pool.nodes_max for pool in settings.pools)
    needed = sum(pool.nodes_max * _block(pool) for pool in settings.pools)
    subnet = settings.network.subnet
    addresses = max(0, IPv4Network(subnet.nodes).num_addresses - RESERVED_ADDRESSES)
    if addresses < nodes:
        yield Finding(
            (NETWORK, "subnet", "nodes"),
            f"room for the {nodes} nodes that the pools may have; this range has {addresses} addresses (VPC, "
            "subnets)",
            f"write a /{_prefix(nodes + RESERVED_ADDRESSES)} or a larger range",
        )
    pods = [subnet.pods, *subnet.additional_pods.values()]
    if sum(IPv4Network(text).num_addresses for text in pods) < needed:
        yield Finding(
            (NETWORK, "subnet", "pods"),
            f"at least {needed} addresses for the {nodes} nodes that the pools may have: each takes twice "
            "its pods, rounded up to a power of two (GKE, VPC-native clusters)",
            f"write a /{_prefix(needed)} or a larger range, or lower the pools' maxPodsPerNode",
        )


def _block(pool: Pool) -> int:
    """Returns the number of addresses that a node takes from the range for pods."""
    return 1 << (2 * (pool.max_pods_per_node or PODS_PER_NODE) - 1).bit_length()


def _prefix(addresses: int) -> int:
    """Returns the prefix length of the smallest range with this number of addresses."""
    return 32 - (addresses - 1).bit_length()


@rule("network", "cluster", "pools")
def gpudirect_has_its_networks(settings: Settings) -> Iterator[Finding]:
    """GPUDirect requires Dataplane V2 and its own VPCs, with an address for each node (GKE, "Maximize GPU
    network bandwidth")."""
    direct = [i for i, pool in enumerate(settings.pools) if pool.gpu_networks]
    if not direct or not isinstance(settings.cluster, Gke):
        return
    if settings.network is None:
        yield Finding(
            ("muster:pools", direct[0], "gpudirect"),
            f"`{NETWORK}` in addition, as the stack must create {gpu_networks(settings.pools)} networks for "
            "GPU traffic (GKE, GPUDirect)",
            f"add `{NETWORK}: {{name: …}}`, or remove `gpudirect`",
        )
    if not settings.cluster.dataplane_v2:
        yield Finding(
            ("muster:cluster", "dataplaneV2"),
            "true: GPUDirect requires multi-networking, which requires Dataplane V2 (GKE)",
            "write true, or remove `gpudirect` from the pools",
        )
    nodes = sum(settings.pools[i].nodes_max for i in direct)
    if settings.network and not _holds(settings.network, nodes):
        yield Finding(
            (NETWORK, "gpuTraffic"),
            f"a range whose eight parts each have room for the {nodes} nodes with GPUDirect (VPC, subnets)",
            f"write a /{_prefix(nodes + RESERVED_ADDRESSES) - 3} or a larger range",
        )


@rule("cluster", "pools")
def gpudirect_needs_a_network_of_the_stack(settings: Settings) -> Iterator[Finding]:
    """The networks for GPU traffic, and multi-networking, are declared with the cluster (GKE API:
    Cluster.networkConfig.enableMultiNetworking)."""
    for i, pool in enumerate(settings.pools):
        joined = settings.place and isinstance(settings.cluster, Existing)
        if pool.gpu_networks and not pool.existing and joined:
            yield Finding(
                ("muster:pools", i, "gpudirect"),
                "no value: the stack creates networks for GPU traffic only in clusters that it creates",
                "create the node pool with the cluster, and write `existing: true`",
            )


def _holds(network: Network, nodes: int) -> bool:
    """Returns whether each range for GPU traffic has an address for each of the nodes."""
    ranges = network.gpu_ranges
    return bool(ranges) and ranges[0].num_addresses - RESERVED_ADDRESSES >= nodes


@doubt("network", "cluster")
def private_nodes_may_not_pull_images(settings: Settings) -> Iterator[Doubt]:
    """Private nodes without a NAT reach Artifact Registry only (GKE, private nodes)."""
    cluster, network = settings.cluster, settings.network
    if not isinstance(cluster, Gke) or not cluster.private_nodes or (network and network.nat):
        return
    yield Doubt(
        (NETWORK, "nat") if network else ("muster:cluster", "privateNodes"),
        "without a NAT, private nodes can pull images from Artifact Registry only (Private Google Access), "
        "not KubeRay's from quay.io, Kueue's from registry.k8s.io or Ray's from Docker Hub. "
        + ("Write nat: true" if network else f"Add `{NETWORK}`, create a NAT in the existing network")
        + ", or mirror the images to a registry of your own",
        "GKE, private nodes",
    )
