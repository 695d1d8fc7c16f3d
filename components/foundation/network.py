"""The VPC of a stack: a subnet for the cluster, and Cloud NAT for nodes without public addresses."""

from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp
from pulumi_gcp.compute import (
    RouterNatLogConfigArgs,
    SubnetworkLogConfigArgs,
    SubnetworkSecondaryIpRangeArgs,
)

from components.base import Component
from settings.model.foundation.network import Network as NetworkSettings


@dataclass(frozen=True)
class NetworkArgs:
    """`region` is the cluster's; `protect` protects the network from deletion."""

    network: NetworkSettings
    project: str
    region: str
    protect: bool


class Network(Component):
    """A VPC with one subnet, whose secondary ranges are for the cluster's pods and services.

    network, subnetwork: their names, for the cluster. pods_range, services_range,
    additional_pods_ranges: the names of its secondary ranges.
    """

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Network", name, opts)
        vpc = gcp.compute.Network(
            self.named(args.network.name),
            name=args.network.name,
            project=args.project,
            auto_create_subnetworks=False,
            routing_mode="REGIONAL",
            opts=self.child(protect=args.protect),
        )
        subnet = self._subnet(args, vpc)
        if args.network.nat:
            self._nat(args, vpc)
        self.network, self.subnetwork = vpc.name, subnet.name
        ranges = args.network.subnet
        self.pods_range, self.services_range = ranges.pods_range, ranges.services_range
        self.additional_pods_ranges = tuple(ranges.additional_pods)
        self.register_outputs({"network": self.network, "subnetwork": self.subnetwork})

    def _subnet(self, args: NetworkArgs, vpc: gcp.compute.Network) -> gcp.compute.Subnetwork:
        ranges = args.network.subnet
        return gcp.compute.Subnetwork(
            self.named(args.network.name),
            name=args.network.name,
            project=args.project,
            region=args.region,
            network=vpc.id,
            ip_cidr_range=ranges.nodes,
            secondary_ip_ranges=[
                SubnetworkSecondaryIpRangeArgs(range_name=name, ip_cidr_range=addresses)
                for name, addresses in {
                    ranges.pods_range: ranges.pods,
                    ranges.services_range: ranges.services,
                    **ranges.additional_pods,
                }.items()
            ],
            # Artifact Registry, Cloud Logging and buckets are reached without NAT.
            private_ip_google_access=True,
            log_config=flow_logs(args.network),
            opts=self.child(protect=args.protect),
        )

    def _nat(self, args: NetworkArgs, vpc: gcp.compute.Network) -> None:
        router = gcp.compute.Router(
            self.named(f"{args.network.name}-nat"),
            name=f"{args.network.name}-nat",
            project=args.project,
            region=args.region,
            network=vpc.id,
            opts=self.child(),
        )
        gcp.compute.RouterNat(
            self.named(f"{args.network.name}-nat"),
            name=f"{args.network.name}-nat",
            project=args.project,
            region=args.region,
            router=router.name,
            nat_ip_allocate_option="AUTO_ONLY",
            source_subnetwork_ip_ranges_to_nat="ALL_SUBNETWORKS_ALL_IP_RANGES",
            # A gang's pods pull images at the same time: nodes get NAT ports as they need them, not 64 each.
            enable_dynamic_port_allocation=True,
            enable_endpoint_independent_mapping=False,
            log_config=RouterNatLogConfigArgs(enable=True, filter="ERRORS_ONLY"),
            opts=self.child(),
        )


def flow_logs(network: NetworkSettings) -> SubnetworkLogConfigArgs | None:
    """Returns the flow log settings of each subnet of the stack; None without flow logs."""
    return SubnetworkLogConfigArgs(metadata="INCLUDE_ALL_METADATA") if network.flow_logs else None
