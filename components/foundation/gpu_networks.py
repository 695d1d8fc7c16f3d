"""Networks for traffic between GPUs: VPCs, and the objects through which pods request interfaces."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp
from pulumi_gcp.compute import FirewallAllowArgs
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.base import Component
from components.foundation.network import flow_logs
from settings.model.foundation.network import Network as NetworkSettings

# The largest packets that GPUDirect sends (GKE, "Maximize GPU network bandwidth").
GPU_MTU = 8244
API = "networking.gke.io"


@dataclass(frozen=True)
class NodeInterface:
    """Names of the VPC and the subnet of an additional node interface."""

    network: pulumi.Output[str]
    subnetwork: pulumi.Output[str]


@dataclass(frozen=True)
class GpuNetworksArgs:
    """`count` networks, each with its own range from `network.gpu_ranges`."""

    network: NetworkSettings
    count: int
    project: str
    region: str


class GpuNetworks(Component):
    """A VPC with one subnet for each GPU interface of a node; only traffic within the VPC is allowed.

    interfaces: one for each network, in order; a pool uses the first ones, as many as its machines have.
    """

    def __init__(self, name: str, args: GpuNetworksArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("GpuNetworks", name, opts)
        self.interfaces = tuple(self._network(args, number) for number in range(1, args.count + 1))
        self.register_outputs({"networks": [interface.network for interface in self.interfaces]})

    def _network(self, args: GpuNetworksArgs, number: int) -> NodeInterface:
        name, range_ = f"{args.network.name}-gpu-{number}", str(args.network.gpu_ranges[number - 1])
        vpc = gcp.compute.Network(
            self.named(name),
            name=name,
            project=args.project,
            auto_create_subnetworks=False,
            mtu=GPU_MTU,
            opts=self.child(),
        )
        subnet = gcp.compute.Subnetwork(
            self.named(name),
            name=name,
            project=args.project,
            region=args.region,
            network=vpc.id,
            ip_cidr_range=range_,
            log_config=flow_logs(args.network),
            opts=self.child(),
        )
        gcp.compute.Firewall(
            self.named(f"{name}-internal"),
            name=f"{name}-internal",
            project=args.project,
            network=vpc.id,
            source_ranges=[range_],
            allows=[FirewallAllowArgs(protocol=protocol) for protocol in ("tcp", "udp", "icmp")],
            opts=self.child(),
        )
        return NodeInterface(vpc.name, subnet.name)


@dataclass(frozen=True)
class DeviceNetworksArgs:
    """`interfaces`: the network interfaces of a pool's nodes."""

    interfaces: Sequence[NodeInterface]


class DeviceNetworks(Component):
    """GKE's Network and GKENetworkParamSet objects `gpu-1`, `gpu-2`, …

    Pods request them in their annotation networking.gke.io/interfaces.
    """

    def __init__(
        self, name: str, args: DeviceNetworksArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("DeviceNetworks", name, opts)
        names = [f"gpu-{number}" for number, _ in enumerate(args.interfaces, start=1)]
        for device, interface in zip(names, args.interfaces, strict=True):
            parameters = self._object(
                "GKENetworkParamSet",
                device,
                {"vpc": interface.network, "vpcSubnet": interface.subnetwork, "deviceMode": "NetDevice"},
                [],
            )
            reference = {"group": API, "kind": "GKENetworkParamSet", "name": device}
            self._object("Network", device, {"type": "Device", "parametersRef": reference}, [parameters])
        self.register_outputs({"names": names})

    def _object(
        self, kind: str, name: str, spec: dict[str, object], after: list[pulumi.Resource]
    ) -> CustomResource:
        return CustomResource(
            self.named(name),
            api_version=f"{API}/v1",
            kind=kind,
            metadata=ObjectMetaArgs(name=name),
            spec=spec,
            opts=self.child(depends_on=after),
        )
