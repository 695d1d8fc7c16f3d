"""Access to a GKE cluster's control plane: authentication, networks, and the kubeconfig."""

from collections.abc import Mapping

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

from components.cluster_egress import ApiServer
from settings.model.foundation.cluster import Gke

HTTPS = 443
NO_ADDRESS = "0.0.0.0"

# Google identities only: no client certificates (CIS GKE 5.8.1), and no RBAC bindings for anonymous users or
# for every Google account (CIS 4.1.8 to 4.1.10).
MASTER_AUTH = ClusterMasterAuthArgs(
    client_certificate_config=ClusterMasterAuthClientCertificateConfigArgs(issue_client_certificate=False)
)
BINDINGS = ClusterRbacBindingConfigArgs(
    enable_insecure_binding_system_authenticated=False,
    enable_insecure_binding_system_unauthenticated=False,
)


def endpoints(cluster: Gke) -> ClusterControlPlaneEndpointsConfigArgs:
    """Returns the endpoints of the control plane."""
    dns = ClusterControlPlaneEndpointsConfigDnsEndpointConfigArgs(allow_external_traffic=cluster.dns_endpoint)
    return ClusterControlPlaneEndpointsConfigArgs(dns_endpoint_config=dns)


def private_cluster(cluster: Gke) -> ClusterPrivateClusterConfigArgs:
    """Returns whether the nodes and the control plane's endpoint are private."""
    return ClusterPrivateClusterConfigArgs(
        enable_private_nodes=cluster.private_nodes, enable_private_endpoint=not cluster.public_endpoint
    )


def authorized_networks(cluster: Gke) -> ClusterMasterAuthorizedNetworksConfigArgs:
    """Returns the networks that may connect, even if there are none: without the block, every one may."""
    return ClusterMasterAuthorizedNetworksConfigArgs(
        cidr_blocks=[
            ClusterMasterAuthorizedNetworksConfigCidrBlockArgs(display_name=name, cidr_block=network)
            for name, network in cluster.authorized_networks.items()
        ],
        gcp_public_cidrs_access_enabled=False,
        private_endpoint_enforcement_enabled=True,
    )


def connection(cluster: gcp.container.Cluster, dns_endpoint: bool) -> dict[str, pulumi.Output[str]]:
    """Returns the control plane's URL, and the certificate if the URL has no public one."""
    return _by_name(cluster) if dns_endpoint else _by_address(cluster)


def kubeconfig(connection: Mapping[str, pulumi.Output[str]]) -> dict[str, object]:
    """Returns a kubeconfig without credentials: Google's plugin uses the account of the user that runs
    `pulumi`.

    The DNS endpoint has a public certificate and can be reached from outside the VPC, for instance by CI.
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
        "clusters": [{"name": "gke", "cluster": connection}],
        "users": [{"name": "gke", "user": {"exec": login}}],
        "contexts": [{"name": "gke", "context": {"cluster": "gke", "user": "gke"}}],
        "current-context": "gke",
    }


def private_address(cluster: gcp.container.Cluster) -> pulumi.Output[str]:
    """Returns the address at which nodes and pods reach the control plane, whether or not it has a public
    one too (GKE, "About customizing network isolation")."""
    missing = _missing("privateClusterConfig.privateEndpoint")
    private = cluster.private_cluster_config.private_endpoint
    return private.apply(lambda address: required_address(address, missing))


def required_address(address: str | None, missing: str) -> str:
    """Returns the address. Raises RunError with a text if there is none; a preview only warns, as of a state
    from before this output existed."""
    if address:
        return address
    if not pulumi.runtime.is_dry_run():
        raise pulumi.RunError(missing)
    pulumi.log.warn(missing)
    return NO_ADDRESS


def at_address(address: pulumi.Output[str]) -> tuple[ApiServer, ...]:
    """Returns the control plane at its private address."""
    return (ApiServer(pulumi.Output.concat(address, "/32"), [HTTPS]),)


def _by_name(cluster: gcp.container.Cluster) -> dict[str, pulumi.Output[str]]:
    name = cluster.control_plane_endpoints_config.dns_endpoint_config.endpoint
    return {"server": _url(name, "controlPlaneEndpointsConfig.dnsEndpointConfig.endpoint")}


def _by_address(cluster: gcp.container.Cluster) -> dict[str, pulumi.Output[str]]:
    return {
        "server": _url(cluster.endpoint, "endpoint"),
        "certificate-authority-data": cluster.master_auth.cluster_ca_certificate,
    }


def _url(host: pulumi.Output[str | None], output: str) -> pulumi.Output[str]:
    """Returns the URL of a host, which is the named output of the cluster."""

    def url(endpoint: str | None) -> str:
        if endpoint is None:
            raise pulumi.RunError(_missing(output))
        return f"https://{endpoint}"

    return host.apply(url)


def _missing(output: str) -> str:
    return (
        f"the GKE cluster has no output `{output}`, by which its control plane is reached: "
        "in a unit test, let the mocks return one for gcp:container/cluster:Cluster"
    )
