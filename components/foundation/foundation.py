"""A stack's Google Cloud resources: a network, a GKE cluster in it, and the cluster's nodes."""

from dataclasses import dataclass

import pulumi

from components.base import Component
from components.foundation.apis import ProjectArgs, enter_project
from components.foundation.backups import Backups, BackupsArgs
from components.foundation.cluster import GkeCluster, GkeClusterArgs
from components.foundation.compute_classes import ComputeClasses, ComputeClassesArgs
from components.foundation.control_plane import at_address, private_address
from components.foundation.disk_keys import disk_keys
from components.foundation.google_cloud import GoogleCloud
from components.foundation.gpu_networks import (
    DeviceNetworks,
    DeviceNetworksArgs,
    GpuNetworks,
    GpuNetworksArgs,
)
from components.foundation.network import Network, NetworkArgs
from components.foundation.node_identity import NodeIdentity, NodeIdentityArgs
from components.foundation.node_pools import NodePools, NodePoolsArgs
from settings.load import Settings
from settings.model.foundation.cluster import Gke
from settings.model.foundation.network import gpu_networks
from settings.model.split import PARTS, Part


@dataclass(frozen=True)
class FoundationArgs:
    """`cluster` and `project` are from `settings`, where both are optional; `parts`: deployed by the
    stack."""

    settings: Settings
    cluster: Gke
    project: str
    parts: frozenset[Part] = frozenset(PARTS)


class Foundation(Component):
    """Network, cluster and node pools.

    google: project, region, labels and provider of the stack's other Google Cloud resources.
    kubernetes: the provider of resources inside the cluster.
    name, kubeconfig, endpoint: the cluster's; `cluster_id`, which identifies it at any address.
    private_address: that at which pods reach its control plane; api_servers: the same with its port.
    network, subnetwork: their names or paths. nodes_account: the e-mail address of the nodes' account.
    node_pools: the names of its node pools.
    """

    def __init__(self, name: str, args: FoundationArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Foundation", name, opts)
        settings = args.cluster
        place = ProjectArgs(args.settings, settings.place, args.parts)
        self.google: GoogleCloud = enter_project(self, place)
        network, gpus = self._network(args), self._gpu_networks(args)
        kuberay = args.settings.kuberay
        nodes = NodeIdentity(
            "nodes", NodeIdentityArgs(settings.place, "nodes", args.project), self._in_cloud()
        )
        keys = disk_keys(args.settings.pools, settings.node_defaults, args.project, self._in_cloud())
        cluster = GkeCluster(
            "cluster",
            GkeClusterArgs(
                cluster=settings,
                project=args.project,
                network=network,
                service_account=nodes.email,
                multi_networking=any(pool.gpudirect or pool.dranet for pool in args.settings.pools),
                ray_addon=kuberay.addon if kuberay.install == "addon" else None,
            ),
            self._in_cloud(*([network] if network else []), nodes, *keys),
        )
        self.name, self.kubernetes = cluster.name, cluster.kubernetes
        self.kubeconfig, self.cluster_id = cluster.kubeconfig, cluster.cluster.id
        self.endpoint, self.nodes_account = cluster.endpoint, nodes.email
        self.private_address = private_address(cluster.cluster)
        self.api_servers = at_address(self.private_address)
        self.network, self.subnetwork = cluster.cluster.network, cluster.cluster.subnetwork
        self.node_pools = self._node_pools(args, cluster, nodes, gpus)
        if settings.backup:
            backups = BackupsArgs(settings.backup, self.cluster_id, self.google)
            Backups("backups", backups, self._in_cloud(cluster))
        self.register_outputs({"name": self.name})

    def _in_cloud(self, *after: pulumi.Resource) -> pulumi.ResourceOptions:
        return self.child(provider=self.google.provider, depends_on=[*self.google.apis, *after])

    def _network(self, args: FoundationArgs) -> Network | None:
        settings = args.settings.network
        if settings is None:
            return None
        network = NetworkArgs(settings, args.project, self.google.region, args.cluster.deletion_protection)
        return Network("network", network, self._in_cloud())

    def _gpu_networks(self, args: FoundationArgs) -> GpuNetworks | None:
        settings, count = args.settings.network, gpu_networks(args.settings.pools)
        if settings is None or not count:
            return None
        networks = GpuNetworksArgs(settings, count, args.project, self.google.region)
        return GpuNetworks("gpu-networks", networks, self._in_cloud())

    def _node_pools(
        self, args: FoundationArgs, cluster: GkeCluster, nodes: NodeIdentity, gpus: GpuNetworks | None
    ) -> list[pulumi.Output[str]]:
        pools = NodePoolsArgs(
            pools=args.settings.pools,
            project=args.project,
            cluster=args.cluster.place,
            name=cluster.name,
            service_account=nodes.email,
            interfaces=gpus.interfaces if gpus else (),
            defaults=args.cluster.node_defaults,
        )
        created = NodePools("node-pools", pools, self._in_cloud())
        inside = self.child(provider=self.kubernetes, depends_on=[cluster])
        if any(pool.compute_class for pool in pools.pools):
            classes = ComputeClassesArgs(pools.pools, nodes.email, pools.defaults)
            ComputeClasses("compute-classes", classes, inside)
        if gpus:
            interfaces = DeviceNetworksArgs(gpus.interfaces)
            DeviceNetworks("device-networks", interfaces, inside)
        return [pool.name for pool in created.node_pools.values()]
