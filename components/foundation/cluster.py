"""A new GKE cluster."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as kubernetes
from pulumi_gcp.container import (
    ClusterAnonymousAuthenticationConfigArgs,
    ClusterArgs,
    ClusterAuthenticatorGroupsConfigArgs,
    ClusterBinaryAuthorizationArgs,
    ClusterCostManagementConfigArgs,
    ClusterEnableK8sBetaApisArgs,
    ClusterFleetArgs,
    ClusterGatewayApiConfigArgs,
    ClusterIpAllocationPolicyAdditionalPodRangesConfigArgs,
    ClusterIpAllocationPolicyArgs,
    ClusterNodeConfigArgs,
    ClusterNotificationConfigArgs,
    ClusterNotificationConfigPubsubArgs,
    ClusterReleaseChannelArgs,
    ClusterSecurityPostureConfigArgs,
    ClusterVerticalPodAutoscalingArgs,
    ClusterWorkloadIdentityConfigArgs,
)

from components.base import Component
from components.foundation import cluster_features, control_plane, upkeep
from components.foundation.key_access import grantable, let_encrypt
from components.foundation.network import Network
from components.foundation.service_agents import service_agent
from components.foundation.shared_vpc import SharedVpc, SharedVpcArgs
from settings.model.foundation.cluster import Gke
from settings.model.operators.kuberay import Addon

# Fields that GKE and its autoscaler change: the default pool, which is removed, and node versions.
MANAGED_BY_GKE = ["initialNodeCount", "nodeConfig", "nodePools", "nodeVersion"]

# Server-side apply takes over declared fields that were edited by hand, instead of failing with a conflict.
# Fields that are not declared (statuses, finalizers, fields of controllers) are unchanged.
FORCE_PATCH = True


@dataclass(frozen=True)
class GkeClusterArgs:
    """network: the stack's own; None if the cluster's settings name an existing one.

    service_account: for nodes that GKE creates by itself.
    """

    cluster: Gke
    project: str
    network: Network | None
    service_account: pulumi.Input[str]
    multi_networking: bool
    ray_addon: Addon | None


class GkeCluster(Component):
    """A VPC-native Standard cluster with Workload Identity, and without a default pool.

    name, location: of the cluster in GKE's API.
    endpoint: the URL of its control plane.
    kubeconfig: a kubeconfig without credentials.
    kubernetes: the provider of resources inside the cluster.
    """

    def __init__(self, name: str, args: GkeClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("GkeCluster", name, opts)
        settings = args.cluster
        self.cluster = gcp.container.Cluster(
            self.named(settings.name),
            _cluster(args),
            opts=self.child(
                protect=settings.deletion_protection,
                depends_on=[*self._key_access(args), *self._host_access(args)],
                ignore_changes=MANAGED_BY_GKE,
            ),
        )
        self.name = self.cluster.name
        self.location = settings.location
        connection = control_plane.connection(self.cluster, settings.dns_endpoint)
        self.endpoint = connection["server"]
        self.kubeconfig = pulumi.Output.json_dumps(control_plane.kubeconfig(connection))
        self.kubernetes = kubernetes.Provider(
            self.named("kubernetes"),
            kubeconfig=self.kubeconfig,
            # Without it, a new endpoint or certificate would look like a new cluster and replace everything.
            cluster_identifier=self.cluster.id,
            enable_patch_force=FORCE_PATCH,
            opts=self.child(),
        )
        self.register_outputs({"name": self.name, "location": self.location})

    def _host_access(self, args: GkeClusterArgs) -> Sequence[pulumi.Resource]:
        """Lets GKE's service agents use the network of the host project of a Shared VPC."""
        cluster = args.cluster
        if cluster.host_project in (None, args.project) or not cluster.host_roles:
            return []
        assert cluster.host_project, "checked above"
        assert cluster.subnetwork, "the settings' rules require one"
        shared = SharedVpcArgs(args.project, cluster.host_project, cluster.subnetwork, cluster.region)
        return [SharedVpc("shared-vpc", shared, self.child())]

    def _key_access(self, args: GkeClusterArgs) -> Sequence[pulumi.Resource]:
        """Lets GKE's service agent use the key; for a key in another project, its owner must do so."""
        key = args.cluster.secrets_encryption
        if not grantable(key, args.project):
            return []
        agent = service_agent(self, "gke", args.project)
        return [let_encrypt(self, "secrets-encryption", key, agent.member)]


def _cluster(args: GkeClusterArgs) -> ClusterArgs:
    settings, network = args.cluster, args.network
    cluster = ClusterArgs(
        name=settings.name,
        project=args.project,
        location=settings.location,
        node_locations=list(settings.zones) or None,
        min_master_version=settings.version,
        release_channel=ClusterReleaseChannelArgs(channel=settings.channel.upper()),
        maintenance_policy=upkeep.maintenance_policy(settings.maintenance),
        network=network.network if network else settings.network or "default",
        subnetwork=network.subnetwork if network else settings.subnetwork or "default",
        networking_mode="VPC_NATIVE",
        ip_allocation_policy=_ranges(network or settings),
        datapath_provider="ADVANCED_DATAPATH" if settings.dataplane_v2 else "LEGACY_DATAPATH",
        enable_intranode_visibility=settings.intranode_visibility,
        enable_multi_networking=args.multi_networking,
        resource_labels=settings.labels,
        deletion_protection=settings.deletion_protection,
        # GKE cannot create a cluster without a pool: the default one is removed, NodePools declares all
        # others.
        remove_default_node_pool=True,
        initial_node_count=1,
        node_config=ClusterNodeConfigArgs(
            service_account=args.service_account, oauth_scopes=[upkeep.PLATFORM_SCOPE]
        ),
    )
    _secure(cluster, args)
    _equip(cluster, args)
    return cluster


def _ranges(named: Network | Gke) -> ClusterIpAllocationPolicyArgs:
    """Returns the names of the subnet's secondary ranges; without names, GKE creates ranges."""
    additional = list(named.additional_pods_ranges)
    more = ClusterIpAllocationPolicyAdditionalPodRangesConfigArgs(pod_range_names=additional)
    return ClusterIpAllocationPolicyArgs(
        cluster_secondary_range_name=named.pods_range,
        services_secondary_range_name=named.services_range,
        additional_pod_ranges_config=more if additional else None,
    )


def _secure(cluster: ClusterArgs, args: GkeClusterArgs) -> None:
    settings = args.cluster
    cluster.private_cluster_config = control_plane.private_cluster(settings)
    cluster.control_plane_endpoints_config = control_plane.endpoints(settings)
    cluster.master_authorized_networks_config = control_plane.authorized_networks(settings)
    cluster.master_auth = control_plane.MASTER_AUTH
    cluster.rbac_binding_config = control_plane.BINDINGS
    cluster.enable_legacy_abac = False
    if mode := settings.anonymous_authentication:
        cluster.anonymous_authentication_config = ClusterAnonymousAuthenticationConfigArgs(mode=mode.upper())
    if settings.security_group:
        cluster.authenticator_groups_config = ClusterAuthenticatorGroupsConfigArgs(
            security_group=settings.security_group
        )
    cluster.workload_identity_config = ClusterWorkloadIdentityConfigArgs(
        workload_pool=f"{args.project}.svc.id.goog"
    )
    cluster.enable_shielded_nodes = True
    cluster.node_pool_defaults = cluster_features.NODE_DEFAULTS
    cluster.node_pool_auto_config = cluster_features.auto_node_defaults(settings)
    cluster.database_encryption = cluster_features.encryption(settings.secrets_encryption)
    cluster.binary_authorization = ClusterBinaryAuthorizationArgs(
        evaluation_mode="PROJECT_SINGLETON_POLICY_ENFORCE" if settings.binary_authorization else "DISABLED"
    )
    cluster.security_posture_config = ClusterSecurityPostureConfigArgs(
        mode="BASIC" if settings.security_posture else "DISABLED"
    )


def _equip(cluster: ClusterArgs, args: GkeClusterArgs) -> None:
    settings = args.cluster
    cluster.addons_config = cluster_features.addons(settings, args.ray_addon)
    cluster.logging_config = cluster_features.logging(settings)
    cluster.monitoring_config = cluster_features.monitoring(settings)
    cluster.cost_management_config = ClusterCostManagementConfigArgs(enabled=settings.cost_management)
    cluster.vertical_pod_autoscaling = ClusterVerticalPodAutoscalingArgs(
        enabled=settings.vertical_pod_autoscaling
    )
    cluster.gateway_api_config = ClusterGatewayApiConfigArgs(
        channel="CHANNEL_STANDARD" if settings.gateway_api else "CHANNEL_DISABLED"
    )
    cluster.cluster_autoscaling = upkeep.cluster_autoscaling(settings, args.service_account)
    cluster.dns_config = cluster_features.dns(settings.dns)
    cluster.secret_manager_config = cluster_features.secret_manager(settings.secret_manager)
    if settings.beta_apis:
        cluster.enable_k8s_beta_apis = ClusterEnableK8sBetaApisArgs(enabled_apis=list(settings.beta_apis))
    if settings.fleet:
        cluster.fleet = ClusterFleetArgs(project=settings.fleet)
    if settings.notifications:
        pubsub = ClusterNotificationConfigPubsubArgs(enabled=True, topic=settings.notifications)
        cluster.notification_config = ClusterNotificationConfigArgs(pubsub=pubsub)
