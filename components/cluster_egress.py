"""Egress rules for what pods need of their cluster: DNS, on GKE its metadata server, and the API server."""

from collections.abc import Sequence
from typing import NamedTuple

import pulumi
from pulumi_kubernetes.meta.v1 import LabelSelectorArgs
from pulumi_kubernetes.networking.v1 import (
    IPBlockArgs,
    NetworkPolicyEgressRuleArgs,
    NetworkPolicyPeerArgs,
    NetworkPolicyPortArgs,
)

# GKE's metadata server, with Dataplane V2 and without (GKE, "Network policy and Workload Identity").
METADATA_SERVER = {"169.254.169.254/32": (80, 8080), "169.254.169.252/32": (987, 988)}
# DNS outside kube-system: Cloud DNS, and NodeLocal DNSCache.
NAME_SERVERS = ("169.254.169.254/32", "169.254.20.10/32")


class ApiServer(NamedTuple):
    """Addresses of the API server as pods reach it, and its ports; no ports: all.

    NetworkPolicies apply to the addresses behind the Service `kubernetes`, not to that of the Service
    (GKE, "Create a cluster network policy": Limitations).
    """

    cidr: pulumi.Input[str]
    ports: Sequence[int]


def cluster_egress(*, on_gke: bool) -> list[NetworkPolicyEgressRuleArgs]:
    """Returns the egress that each pod needs: DNS, and the metadata server on GKE."""
    kube_system = LabelSelectorArgs(match_labels={"kubernetes.io/metadata.name": "kube-system"})
    dns = [
        NetworkPolicyPeerArgs(namespace_selector=kube_system),
        *(NetworkPolicyPeerArgs(ip_block=IPBlockArgs(cidr=cidr)) for cidr in NAME_SERVERS if on_gke),
    ]
    ports = [NetworkPolicyPortArgs(protocol=protocol, port=53) for protocol in ("UDP", "TCP")]
    rules = [NetworkPolicyEgressRuleArgs(to=dns, ports=ports)]
    if on_gke:
        rules += [egress_to([cidr], ports) for cidr, ports in METADATA_SERVER.items()]
    return rules


def egress_to(cidrs: Sequence[pulumi.Input[str]], ports: Sequence[int]) -> NetworkPolicyEgressRuleArgs:
    """Returns a rule for TCP connections to these ports, or to any port if there are none."""
    peers = [NetworkPolicyPeerArgs(ip_block=IPBlockArgs(cidr=cidr)) for cidr in cidrs]
    return NetworkPolicyEgressRuleArgs(to=peers, ports=tcp(ports) or None)


def tcp(ports: Sequence[int]) -> list[NetworkPolicyPortArgs]:
    """Returns TCP ports of a NetworkPolicy."""
    return [NetworkPolicyPortArgs(protocol="TCP", port=port) for port in ports]
