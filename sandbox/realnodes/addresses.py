"""The addresses of a sandbox's network: the machine, the DNS, the nodes and their pods.

Several sandboxes can run on one machine, so each takes a separate block; only the machine's end of the
network is visible outside of the namespaces.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

BLOCKS = 100
SERVICES = "10.96.0.0/16"
ROUTES = Path("/proc/net/route")
_FIRST_POD_NETWORK = 128


@dataclass(frozen=True)
class Addresses:
    """The addresses of block 0, 1, …; nodes are counted from 0."""

    block: int

    @property
    def network(self) -> str:
        """The network that connects the machine, the DNS and the nodes."""
        return f"10.99.{self.block}.0/24"

    @property
    def machine(self) -> str:
        """The address at which nodes and pods reach the API server."""
        return f"10.99.{self.block}.1"

    @property
    def dns(self) -> str:
        """The address of the cluster's DNS."""
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
    """Returns the first block that no route of the machine leads to.

    routes: the content of /proc/net/route, where networks are little-endian hexadecimal numbers. Raises
    ValueError if none is free.
    """
    taken = {line.split()[1] for line in routes.splitlines()[1:]}
    for block in range(BLOCKS):
        if not {_hexadecimal(10, 99, block, 0), _hexadecimal(10, _FIRST_POD_NETWORK + block, 0, 0)} & taken:
            return Addresses(block)
    raise ValueError(f"all {BLOCKS} networks 10.99.0.0/24 to 10.99.{BLOCKS - 1}.0/24 already have routes")


def _hexadecimal(*octets: int) -> str:
    return bytes(reversed(octets)).hex().upper()
