"""The Kubernetes cluster: one that GKE makes, or one that already runs."""

from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as kubernetes
from pulumi_gcp.container import (
    ClusterAddonsConfigArgs,
    ClusterAddonsConfigRayOperatorConfigArgs,
    ClusterIpAllocationPolicyArgs,
    ClusterReleaseChannelArgs,
    ClusterWorkloadIdentityConfigArgs,
)

from components.base import Component
from stacks.cluster import Existing, Gke


@dataclass(frozen=True)
class GkeClusterArgs:
    cluster: Gke
    project: str
    ray_addon: bool


class GkeCluster(Component):
    """A VPC-native Standard cluster with Workload Identity and Dataplane V2, and no pool of its own.

    `google` and `kubernetes` are the providers for what belongs to it.
    """

    def __init__(self, name: str, args: GkeClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("GkeCluster", name, opts)
        self.google = gcp.Provider("google", project=args.project, opts=self.child())
        self.cluster = self._cluster(args)
        self.name = self.cluster.name
        self.location = args.cluster.location
        kubeconfig = pulumi.Output.json_dumps(_kubeconfig(self.cluster))
        self.kubernetes = kubernetes.Provider(
            "kubernetes",
            kubeconfig=kubeconfig,
            # Without it, another endpoint or certificate would mean another cluster: everything replaced.
            cluster_identifier=self.cluster.id,
            opts=self.child(),
        )
        self.register_outputs({"name": self.name, "location": self.location})

    def _cluster(self, args: GkeClusterArgs) -> gcp.container.Cluster:
        wanted = args.cluster
        addons = ClusterAddonsConfigArgs(
            ray_operator_configs=[ClusterAddonsConfigRayOperatorConfigArgs(enabled=True)]
        )
        return gcp.container.Cluster(
            wanted.name,
            name=wanted.name,
            project=args.project,
            location=wanted.location,
            min_master_version=wanted.version,
            release_channel=ClusterReleaseChannelArgs(channel=wanted.channel.upper()),
            network=wanted.network,
            subnetwork=wanted.subnetwork,
            networking_mode="VPC_NATIVE",
            ip_allocation_policy=ClusterIpAllocationPolicyArgs(),
            datapath_provider="ADVANCED_DATAPATH",
            workload_identity_config=ClusterWorkloadIdentityConfigArgs(
                workload_pool=f"{args.project}.svc.id.goog"
            ),
            addons_config=addons if args.ray_addon else None,
            # GKE makes no cluster without a pool; it is taken away again, and NodePools makes the real ones.
            remove_default_node_pool=True,
            initial_node_count=1,
            resource_labels=wanted.labels,
            deletion_protection=wanted.deletion_protection,
            opts=self.child(provider=self.google, protect=wanted.deletion_protection),
        )


class ExistingCluster(Component):
    """A cluster that already runs; `kubernetes` is the provider that reaches it."""

    def __init__(self, name: str, args: Existing, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("ExistingCluster", name, opts)
        self.name = pulumi.Output.from_input(args.name)
        self.kubernetes = kubernetes.Provider("kubernetes", context=args.context, opts=self.child())
        self.register_outputs({"name": self.name})


def _kubeconfig(cluster: gcp.container.Cluster) -> dict[str, object]:
    """A kubeconfig without credentials: Google's plugin gets them for whoever runs `pulumi`."""
    login = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "gke-gcloud-auth-plugin",
        "installHint": "gcloud components install gke-gcloud-auth-plugin",
        "provideClusterInfo": True,
    }
    address = {
        "server": pulumi.Output.concat("https://", cluster.endpoint),
        "certificate-authority-data": cluster.master_auth.cluster_ca_certificate,
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "gke", "cluster": address}],
        "users": [{"name": "gke", "user": {"exec": login}}],
        "contexts": [{"name": "gke", "context": {"cluster": "gke", "user": "gke"}}],
        "current-context": "gke",
    }
