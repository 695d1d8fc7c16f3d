"""An existing cluster, and what the stack adds to it in Google Cloud."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from components.base import Component
from components.cluster_egress import ApiServer
from components.foundation.apis import ProjectArgs, enter_project
from components.foundation.cluster import FORCE_PATCH
from components.foundation.compute_classes import ComputeClasses, ComputeClassesArgs
from components.foundation.disk_keys import disk_keys
from components.foundation.google_cloud import GoogleCloud
from components.foundation.node_identity import NodeIdentity, NodeIdentityArgs
from components.foundation.node_pools import NodePools, NodePoolsArgs
from settings.model.foundation.existing import Existing
from settings.model.foundation.place import GkePlace
from settings.model.split import PARTS, Part
from settings.model.stack import Settings


@dataclass(frozen=True)
class ExistingClusterArgs:
    """`cluster` is that of `settings`; `parts`: deployed by the stack."""

    settings: Settings
    cluster: Existing
    parts: frozenset[Part] = frozenset(PARTS)


def named_api_servers(cluster: Existing) -> tuple[ApiServer, ...]:
    """Returns the addresses of the API server that the settings name."""
    return tuple(ApiServer(server.cidr, server.ports) for server in cluster.api_server)


class ExistingCluster(Component):
    """An existing cluster, with the stack's node pools if it is GKE's.

    nodes_account: the e-mail address of the account of the stack's own pools, if it has any.
    google: None if the settings have no place of the cluster in GKE.
    kubernetes: the provider of resources inside the cluster. api_servers: the addresses of its control plane
    that the settings name.
    """

    def __init__(
        self, name: str, args: ExistingClusterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("ExistingCluster", name, opts)
        cluster = args.cluster
        self.name = pulumi.Output.from_input(cluster.name)
        self.kubernetes = kubernetes.Provider(
            self.named("kubernetes"),
            context=cluster.context,
            enable_patch_force=FORCE_PATCH,
            opts=self.child(),
        )
        self.api_servers = named_api_servers(cluster)
        self.google: GoogleCloud | None = None
        self.nodes_account: pulumi.Output[str] | None = None
        if cluster.gke and cluster.place:
            self.google = enter_project(self, ProjectArgs(args.settings, cluster.place, args.parts))
            self._node_pools(args.settings, cluster.place, self.google)
        self.register_outputs({"name": self.name})

    def _node_pools(self, settings: Settings, cluster: GkePlace, google: GoogleCloud) -> None:
        """Declares the pools that are not in the cluster yet, and the account of their nodes."""
        added = tuple(pool for pool in settings.pools if not pool.existing)
        if not added:
            return
        options = self.child(provider=google.provider, depends_on=google.apis)
        # Not `nodes`: a stack that created the cluster has an account of that name.
        nodes = NodeIdentity("pools", NodeIdentityArgs(cluster, "pools", google.project), options)
        self.nodes_account = nodes.email
        pools = NodePoolsArgs(added, google.project, cluster, cluster.name, nodes.email)
        keys = disk_keys(added, pools.defaults, google.project, options)
        after = self.child(provider=google.provider, depends_on=[*google.apis, *keys])
        NodePools("node-pools", pools, after)
        if any(pool.compute_class for pool in added):
            inside = self.child(provider=self.kubernetes)
            ComputeClasses("compute-classes", ComputeClassesArgs(added, nodes.email, pools.defaults), inside)
