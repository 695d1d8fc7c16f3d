"""The addresses of a sandbox's network: the machine, the switch, the nodes and their pods.

Several sandboxes can run on one machine, so each takes a separate block; only the machine's end of the
network is visible outside of the namespaces.
"""

import sys
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

BLOCKS = 100
SERVICES = "10.96.0.0/16"
API_PORT = 6443
"""The port at which nodes and pods reach the API server: NetworkPolicies allow it."""
NETWORKS = "10.99.0.0/16"
"""The networks of all blocks."""
DNS_ADDRESS = "10.96.0.10"
"""The ClusterIP of the cluster's DNS."""
ROUTES = Path("/proc/net/route")
_FIRST_POD_NETWORK = 128
_DESTINATION, _MASK = 1, 7
_ORDER = -1 if sys.byteorder == "little" else 1


@dataclass(frozen=True)
class Addresses:
    """The addresses of block 0, 1, …; nodes are counted from 0."""

    block: int

    @property
    def network(self) -> str:
        """The network that connects the machine, the switch and the nodes."""
        return f"10.99.{self.block}.0/24"

    @property
    def machine(self) -> str:
        """The address at which nodes and pods reach the API server."""
        return f"10.99.{self.block}.1"

    @property
    def gateway(self) -> str:
        """The address of the switch, which knows the routes to the pods of each node."""
        return f"10.99.{self.block}.2"

    @property
    def pods(self) -> str:
        """The network of all pods."""
        return f"10.{_FIRST_POD_NETWORK + self.block}.0.0/16"

    @property
    def interface(self) -> str:
        """The name of the machine's interface in this network."""
        return f"muster{self.block}"

    def node(self, number: int) -> str:
        """Returns the address of a node."""
        return f"10.99.{self.block}.{10 + number}"

    def node_pods(self, number: int) -> str:
        """Returns the network of a node's pods."""
        return f"10.{_FIRST_POD_NETWORK + self.block}.{number}.0/24"


def free_block(routes: str) -> Addresses:
    """Returns the first block with which no route of the machine overlaps, except the default route.

    routes: the content of /proc/net/route. Raises ValueError if none is free.
    """
    taken = [network for network in map(_network, routes.splitlines()[1:]) if network.prefixlen]
    for block in range(BLOCKS):
        addresses = Addresses(block)
        own = [IPv4Network(addresses.network), IPv4Network(addresses.pods)]
        if not any(network.overlaps(other) for network in own for other in taken):
            return addresses
    raise ValueError(f"routes overlap with all of the networks 10.99.0.0/24 to 10.99.{BLOCKS - 1}.0/24")


def _network(route: str) -> IPv4Network:
    """Returns the destination of a route, whose address and mask are hexadecimal in the machine's order."""
    fields = route.split()
    address, mask = (IPv4Address(bytes.fromhex(fields[i])[::_ORDER]) for i in (_DESTINATION, _MASK))
    return IPv4Network(f"{address}/{mask}")
