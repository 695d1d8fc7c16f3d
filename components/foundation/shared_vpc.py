"""Roles in the host project of a Shared VPC, without which GKE cannot create a cluster in its network."""

from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp

from components.base import Component
from components.foundation.service_agents import project_number, service_agent

# Source: GKE, "Set up clusters with Shared VPC", November 2026.


@dataclass(frozen=True)
class SharedVpcArgs:
    """`subnetwork` of the project `host`, in which the cluster of `project` is; its name or its path."""

    project: str
    host: str
    subnetwork: str
    region: str


class SharedVpc(Component):
    """Lets the project's service agents of GKE and of Google APIs use the subnet, and GKE's the host's
    network."""

    def __init__(self, name: str, args: SharedVpcArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("SharedVpc", name, opts)
        agent = service_agent(self, "gke-agent", args.project)
        gcp.projects.IAMMember(
            self.named("host-agent"),
            project=args.host,
            role="roles/container.hostServiceAgentUser",
            member=agent.member,
            opts=self.child(),
        )
        users = {"gke": agent.member, "google-apis": agent.email.apply(_google_apis)}
        for user, member in users.items():
            gcp.compute.SubnetworkIAMMember(
                self.named(f"subnet-{user}"),
                project=args.host,
                region=args.region,
                subnetwork=args.subnetwork.rpartition("/")[2],
                role="roles/compute.networkUser",
                member=member,
                opts=self.child(),
            )
        self.register_outputs({"host": args.host})


def _google_apis(agent: str) -> str:
    """Returns the project's service agent of Google APIs."""
    return f"serviceAccount:{project_number(agent)}@cloudservices.gserviceaccount.com"
