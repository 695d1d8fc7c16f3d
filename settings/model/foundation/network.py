"""The network that a stack makes: room for nodes, pods and services, and for the traffic of GPUs."""

import re
from collections.abc import Iterable
from ipaddress import IPv4Network
from typing import Annotated

from pydantic import AfterValidator
from typing_extensions import Doc

from settings.model.base import Model, refuse
from settings.model.pools.pool import Pool

# Room is left for what is appended: "-gpu-8-internal".
NETWORK_NAME = re.compile(r"[a-z]([-a-z0-9]{0,46}[a-z0-9])?")

# The additional VPCs that nodes of a machine with GPUDirect have an interface in: a3-highgpu-8g (TCPX) and
# a3-megagpu-8g (TCPXO), GKE, "Maximize GPU network bandwidth".
GPUDIRECT_NETWORKS = {"tcpx": 4, "tcpxo": 8}


def _network_name(name: str) -> str:
    if not NETWORK_NAME.fullmatch(name):
        refuse("1 to 48 of a-z, 0-9 and '-', from a letter to a letter or digit", "choose such a name")
    return name


def _cidr(text: str) -> str:
    try:
        given = IPv4Network(text, strict=False)
    except ValueError:
        refuse("a range of IPv4 addresses", "write its first address and its size, such as 10.0.0.0/20")
    if str(given) != text:
        refuse("a range of IPv4 addresses that begins with its first one", f"did you mean {given}?")
    return text


NetworkName = Annotated[str, AfterValidator(_network_name), Doc("network name")]
Cidr = Annotated[str, AfterValidator(_cidr), Doc("address range")]


class Subnet(Model):
    """The ranges of the cluster's subnet; by default for 1024 nodes with GKE's 110 pods each."""

    nodes: Cidr = "10.0.0.0/20"
    """One address a node."""
    pods: Cidr = "10.4.0.0/14"
    """A block a node: twice its pods, rounded up to a power of two (256 for 110 pods)."""
    services: Cidr = "10.8.0.0/20"
    """One address a Service."""


class Network(Model):
    """A VPC of the stack's own, with one subnet in the cluster's region."""

    name: NetworkName
    """Of the VPC and its subnet; the NAT and the networks for GPUs are named after it."""
    subnet: Subnet = Subnet()
    """The cluster's, in its region."""
    nat: bool = True
    """A Cloud NAT, by which private nodes reach the internet."""
    flow_logs: bool = True
    """Sampled logs of the subnet's traffic (CIS GKE 5.6.1)."""
    gpu_traffic: Cidr = "192.168.0.0/16"
    """What the networks of GPUDirect's interfaces are cut from, in eight equal parts."""

    @property
    def gpu_ranges(self) -> tuple[IPv4Network, ...]:
        """A range for each network that GPUDirect may need; none where there is nothing to cut."""
        whole = IPv4Network(self.gpu_traffic)
        return tuple(whole.subnets(prefixlen_diff=3)) if whole.prefixlen <= 29 else ()


def gpu_networks(pools: Iterable[Pool]) -> int:
    """How many networks for GPU traffic the pools share: as many as the widest of them needs."""
    return max((GPUDIRECT_NETWORKS[pool.gpudirect] for pool in pools if pool.gpudirect), default=0)
