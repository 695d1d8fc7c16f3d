"""The service account that nodes run as."""

from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp

from components.base import Component
from components.foundation.google_cloud import account_id, name_at_creation
from settings.model.foundation.place import GkePlace

# The least that a node needs: to write logs and metrics, and to pull images from the project's registries.
ROLES = ("roles/container.defaultNodeServiceAccount", "roles/artifactregistry.reader")


@dataclass(frozen=True)
class NodeIdentityArgs:
    """`suffix` is what the account's name has after the cluster's."""

    cluster: GkePlace
    suffix: str
    project: str


class NodeIdentity(Component):
    """A service account of the cluster's own for nodes, with the least privileges (CIS GKE 5.2.1).

    Compute Engine's default account, which GKE would use, may change the whole project.
    email: names the account in node pools.
    """

    def __init__(self, name: str, args: NodeIdentityArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("NodeIdentity", name, opts)
        account = gcp.serviceaccount.Account(
            self.named(args.suffix),
            account_id=account_id(args.cluster, args.suffix),
            project=args.project,
            display_name=f"Nodes of {args.cluster.name}",
            opts=self.child(ignore_changes=name_at_creation("accountId")),
        )
        for role in ROLES:
            gcp.projects.IAMMember(
                self.named(f"{args.suffix}-{role.rpartition('.')[2]}"),
                project=args.project,
                role=role,
                member=account.member,
                opts=self.child(),
            )
        self.email = account.email
        self.register_outputs({"email": self.email})
