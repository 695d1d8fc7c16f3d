"""Who reaches a GKE cluster's control plane, from where, and the kubeconfig that does."""

import pulumi
import pulumi_gcp as gcp
from pulumi_gcp.container import (
    ClusterControlPlaneEndpointsConfigArgs,
    ClusterControlPlaneEndpointsConfigDnsEndpointConfigArgs,
    ClusterMasterAuthArgs,
    ClusterMasterAuthClientCertificateConfigArgs,
    ClusterMasterAuthorizedNetworksConfigArgs,
    ClusterMasterAuthorizedNetworksConfigCidrBlockArgs,
    ClusterPrivateClusterConfigArgs,
    ClusterRbacBindingConfigArgs,
)

from settings.model.foundation.cluster import Gke

# By Google's identities only: no certificates (CIS GKE 5.8.1); and RBAC for neither those whom nobody has
# authenticated nor all of those with a Google account (CIS 4.1.8 to 4.1.10).
MASTER_AUTH = ClusterMasterAuthArgs(
    client_certificate_config=ClusterMasterAuthClientCertificateConfigArgs(issue_client_certificate=False)
)
BINDINGS = ClusterRbacBindingConfigArgs(
    enable_insecure_binding_system_authenticated=False,
    enable_insecure_binding_system_unauthenticated=False,
)


def endpoints(cluster: Gke) -> ClusterControlPlaneEndpointsConfigArgs:
    dns = ClusterControlPlaneEndpointsConfigDnsEndpointConfigArgs(allow_external_traffic=cluster.dns_endpoint)
    return ClusterControlPlaneEndpointsConfigArgs(dns_endpoint_config=dns)


def private_cluster(cluster: Gke) -> ClusterPrivateClusterConfigArgs:
    return ClusterPrivateClusterConfigArgs(
        enable_private_nodes=cluster.private_nodes, enable_private_endpoint=not cluster.public_endpoint
    )


def authorized_networks(cluster: Gke) -> ClusterMasterAuthorizedNetworksConfigArgs:
    """Given even when there are none: without it everyone would be authorized."""
    return ClusterMasterAuthorizedNetworksConfigArgs(
        cidr_blocks=[
            ClusterMasterAuthorizedNetworksConfigCidrBlockArgs(display_name=name, cidr_block=network)
            for name, network in cluster.authorized_networks.items()
        ],
        gcp_public_cidrs_access_enabled=False,
        private_endpoint_enforcement_enabled=True,
    )


def kubeconfig(cluster: gcp.container.Cluster, dns_endpoint: bool) -> dict[str, object]:
    """A kubeconfig without credentials: Google's plugin gets them for whoever runs `pulumi`.

    The DNS endpoint, whose certificate is a public one, is reached from outside the VPC too, as by CI.
    """
    login = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "gke-gcloud-auth-plugin",
        "installHint": "gcloud components install gke-gcloud-auth-plugin",
        "provideClusterInfo": True,
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "gke", "cluster": _by_name(cluster) if dns_endpoint else _by_address(cluster)}],
        "users": [{"name": "gke", "user": {"exec": login}}],
        "contexts": [{"name": "gke", "context": {"cluster": "gke", "user": "gke"}}],
        "current-context": "gke",
    }


def _by_name(cluster: gcp.container.Cluster) -> dict[str, object]:
    name = cluster.control_plane_endpoints_config.dns_endpoint_config.endpoint
    return {"server": pulumi.Output.concat("https://", name)}


def _by_address(cluster: gcp.container.Cluster) -> dict[str, object]:
    return {
        "server": pulumi.Output.concat("https://", cluster.endpoint),
        "certificate-authority-data": cluster.master_auth.cluster_ca_certificate,
    }
