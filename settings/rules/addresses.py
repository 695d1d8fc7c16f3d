"""Rules of address ranges: what VPC and GKE reserve, and the sizes that they accept."""

from collections.abc import Iterator
from ipaddress import IPv4Network

from settings.model.foundation.network import Network
from settings.model.stack import Settings
from settings.problems import Finding, Path

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
        "224.0.0.0/4": "multicast (VPC, prohibited ranges)",
        "255.255.255.255/32": "broadcasts (VPC, prohibited ranges)",
    }.items()
}
# Longest and shortest prefix; GKE, "VPC-native clusters" (pods, Services) and VPC, "Subnets". A long one for
# nodes has no room for them (network.ranges_hold_the_nodes).
SIZES = {"nodes": (32, 4), "pods": (28, 9), "services": (28, 16)}


def ranges(network: Network) -> Iterator[tuple[Path, IPv4Network]]:
    """Yields the ranges of a network, each with its path."""
    for key in SIZES:
        yield (NETWORK, "subnet", key), IPv4Network(getattr(network.subnet, key))
    yield (NETWORK, "gpuTraffic"), IPv4Network(network.gpu_traffic)


def ranges_are_not_reserved(settings: Settings) -> Iterator[Finding]:
    """No range of the network overlaps one that VPC prohibits or that nodes use themselves (VPC, "Subnets";
    GKE, VPC-native clusters)."""
    for path, network in ranges(settings.network) if settings.network else ():
        for reserved, why in RESERVED.items():
            if network.overlaps(reserved):
                yield Finding(
                    path,
                    f"a range that does not overlap {reserved}, which is for {why}",
                    "choose another one, such as an unused part of 10.0.0.0/8",
                )
                break


def ranges_have_accepted_sizes(settings: Settings) -> Iterator[Finding]:
    """The ranges of the cluster's subnet have sizes that VPC and GKE accept (GKE, VPC-native clusters)."""
    if settings.network is None:
        return
    for key, (longest, shortest) in SIZES.items():
        network = IPv4Network(getattr(settings.network.subnet, key))
        if not shortest <= network.prefixlen <= longest:
            yield Finding(
                (NETWORK, "subnet", key),
                f"a range from /{longest} to /{shortest} for {key} (GKE, VPC-native clusters)",
                f"write a /{longest if network.prefixlen > longest else shortest}",
            )
