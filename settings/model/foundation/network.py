"""The network that a stack creates: address ranges for nodes, pods, Services and GPU traffic."""

import re
from collections.abc import Iterable
from ipaddress import IPv4Network
from typing import Annotated

from pydantic import AfterValidator, Field
from typing_extensions import Doc

from settings.model.base import Model, matching, refuse
from settings.model.google_cloud import RangeName
from settings.model.pools.pool import Pool

# 48 of 63 characters, because "-gpu-8-internal" is appended.
NETWORK_NAME = re.compile(r"[a-z]([-a-z0-9]{0,46}[a-z0-9])?")


def _cidr(text: str) -> str:
    try:
        network = IPv4Network(text, strict=False)
    except ValueError:
        refuse("an IPv4 range", "write it in CIDR notation, such as 10.0.0.0/20")
    if str(network) != text:
        refuse("an IPv4 range without host bits", f"did you mean {network}?")
    return text


def _free_name(name: str) -> str:
    if name == "default":
        refuse(
            "another name: Google Cloud creates a network `default` with each project (VPC)",
            "rename it, or remove muster:network to use that network",
        )
    return name


NetworkName = Annotated[
    str,
    matching(NETWORK_NAME, "1 to 48 of a-z, 0-9 and '-', from a letter on, no '-' at the end", "rename it"),
    AfterValidator(_free_name),
    Doc("network name"),
]
Cidr = Annotated[str, AfterValidator(_cidr), Doc("address range")]


class Subnet(Model):
    """The ranges of the cluster's subnet; the defaults suffice for 1024 nodes with GKE's 110 pods each."""

    nodes: Cidr = "10.0.0.0/20"
    """One address per node."""
    pods: Cidr = "10.4.0.0/14"
    """One block per node: twice its pods, rounded up to a power of two (256 for 110 pods)."""
    services: Cidr = "10.8.0.0/20"
    """One address per Service."""
    additional_pods: dict[RangeName, Cidr] = Field(default_factory=dict)
    """Further ranges for pods by name, which nodes use when `pods` is full; they can be added at any time."""
    pods_range: RangeName = "pods"
    """Name of the range for pods in the subnet; changing it recreates the cluster."""
    services_range: RangeName = "services"
    """Name of the range for Services in the subnet; changing it recreates the cluster."""


class Network(Model):
    """A VPC that the stack creates, with one subnet in the cluster's region."""

    name: NetworkName
    """Name of the VPC and its subnet, and prefix of the names of its NAT and GPU networks."""
    subnet: Subnet = Subnet()
    """The cluster's subnet, in the cluster's region."""
    nat: bool = True
    """Creates a Cloud NAT, through which private nodes reach the internet."""
    flow_logs: bool = True
    """Enables sampled flow logs of the subnet (CIS GKE 5.6.1)."""
    gpu_traffic: Cidr = "192.168.0.0/16"
    """Range that is split into eight equal parts for the networks of GPUDirect interfaces."""

    @property
    def gpu_ranges(self) -> tuple[IPv4Network, ...]:
        """One range for each network that GPUDirect may need; empty if `gpu_traffic` is too small."""
        whole = IPv4Network(self.gpu_traffic)
        return tuple(whole.subnets(prefixlen_diff=3)) if whole.prefixlen <= 29 else ()


def gpu_networks(pools: Iterable[Pool]) -> int:
    """Returns how many GPU networks the pools share: the most that any of them needs."""
    return max((pool.gpu_networks for pool in pools), default=0)
