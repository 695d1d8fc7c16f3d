"""Warnings about addresses: ranges of the internet in a private network, and networks that reach nothing."""

from collections.abc import Iterator
from ipaddress import IPv4Network

from settings.model.foundation.cluster import Gke
from settings.model.stack import Settings
from settings.problems import Doubt
from settings.rules.network import ranges
from settings.rules.registry import doubt

# Ranges that no host of the internet has (RFC 1918, RFC 6598, RFC 6890, RFC 2544, RFC 5737).
PRIVATE = [
    IPv4Network(text)
    for text in (
        "10.0.0.0/8",
        "100.64.0.0/10",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "240.0.0.0/4",
    )
]


def _is_public(network: IPv4Network) -> bool:
    return not any(network.subnet_of(private) for private in PRIVATE)


@doubt("network")
def ranges_may_hide_the_internet(settings: Settings) -> Iterator[Doubt]:
    """Ranges of a VPC are private: hosts of the internet with addresses in them cannot be reached (VPC,
    privately used public IPv4 addresses)."""
    for path, network in ranges(settings.network) if settings.network else ():
        if _is_public(network):
            yield Doubt(
                path,
                "a range of the internet: nodes and pods reach no host there; private ranges are in "
                "10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10 and 240.0.0.0/4",
                "VPC, Valid IPv4 ranges",
            )


@doubt("cluster")
def authorized_networks_may_reach_nothing(settings: Settings) -> Iterator[Doubt]:
    """Without a public endpoint, addresses of the internet reach no control plane (GKE, authorized
    networks)."""
    cluster = settings.cluster
    if isinstance(cluster, Gke) and not cluster.public_endpoint:
        for name, cidr in cluster.authorized_networks.items():
            if _is_public(IPv4Network(cidr)):
                yield Doubt(
                    ("muster:cluster", "authorizedNetworks", name),
                    "a range of the internet, but the control plane has no public address: GKE refuses it, "
                    "or it reaches nothing; remove it, or write publicEndpoint: true",
                    "GKE, Authorized networks",
                )
