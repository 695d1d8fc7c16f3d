"""Access to the API server (CIS GKE Benchmark 1.9, sections 4.1, 5.6 and 5.8)."""

from collections.abc import Iterator

from policies.reading import must_be, must_have, must_not_be, pick
from policies.rule import Resource, resource_rule
from policies.rules.cluster import CLUSTER

EVERYONE = frozenset({"0.0.0.0/0", "::/0"})


def _ip_endpoints_are_off(cluster: Resource) -> bool:
    """Returns whether the API server is reachable by its DNS endpoint only, which is protected by IAM."""
    return pick(cluster.props, "controlPlaneEndpointsConfig", "ipEndpointsConfig", "enabled") is False


@resource_rule(
    "cis-gke-5.6.3-authorized-networks",
    CLUSTER,
    source="CIS GKE 1.9, 5.6.3; Checkov CKV_GCP_20",
    severity="high",
)
def authorized_networks(cluster: Resource) -> Iterator[str]:
    """Only listed networks reach the API server's IP addresses, or it has only the DNS endpoint, which is
    protected by IAM."""
    if _ip_endpoints_are_off(cluster):
        return
    networks = pick(cluster.props, "masterAuthorizedNetworksConfig")
    if networks is None:
        yield (
            "list the networks in masterAuthorizedNetworksConfig.cidrBlocks, or set "
            "controlPlaneEndpointsConfig.ipEndpointsConfig.enabled to false"
        )
    for block in pick(networks, "cidrBlocks") or ():
        if block["cidrBlock"] in EVERYONE:
            yield f"remove {block['cidrBlock']} from masterAuthorizedNetworksConfig.cidrBlocks"


@resource_rule(
    "cis-gke-5.6.4-private-endpoint",
    CLUSTER,
    source="CIS GKE 1.9, 5.6.4; Checkov CKV_GCP_18, CKV_GCP_25",
    severity="high",
)
def private_endpoint(cluster: Resource) -> Iterator[str]:
    """The API server has no public IP address: only a private one, or the DNS endpoint protected by IAM."""
    private = pick(cluster.props, "privateClusterConfig", "enablePrivateEndpoint")
    if not private and not _ip_endpoints_are_off(cluster):
        yield (
            "set privateClusterConfig.enablePrivateEndpoint to true, or "
            "controlPlaneEndpointsConfig.ipEndpointsConfig.enabled to false"
        )


@resource_rule(
    "cis-gke-5.8.1-no-client-certificates",
    CLUSTER,
    source="CIS GKE 1.9, 5.8.1; Checkov CKV_GCP_13",
    severity="high",
)
def no_client_certificates(cluster: Resource) -> Iterator[str]:
    """GKE issues no client certificates (its default), because a leaked one cannot be revoked."""
    return must_not_be(cluster, "masterAuth.clientCertificateConfig.issueClientCertificate", True)


@resource_rule(
    "cis-gke-5.8.3-no-legacy-abac",
    CLUSTER,
    source="CIS GKE 1.9, 5.8.3; Checkov CKV_GCP_7",
    severity="critical",
)
def no_legacy_abac(cluster: Resource) -> Iterator[str]:
    """Only RBAC authorizes requests (GKE's default): legacy ABAC allows every service account everything."""
    return must_not_be(cluster, "enableLegacyAbac", True)


@resource_rule(
    "cis-gke-4.1.8-insecure-bindings-are-refused",
    CLUSTER,
    source="CIS GKE 1.9, 4.1.8 to 4.1.10; GKE API RBACBindingConfig",
    severity="high",
)
def insecure_bindings_are_refused(cluster: Resource) -> Iterator[str]:
    """The API server refuses to bind roles to unauthenticated users or to all Google accounts."""
    for group in ("Authenticated", "Unauthenticated"):
        yield from must_be(cluster, f"rbacBindingConfig.enableInsecureBindingSystem{group}", False)


@resource_rule(
    "muster-no-anonymous-requests",
    CLUSTER,
    source="GKE API: AnonymousAuthenticationConfig",
    severity="high",
)
def no_anonymous_requests(cluster: Resource) -> Iterator[str]:
    """The API server answers no requests without credentials but health checks, which RBAC could extend."""
    return must_not_be(cluster, "anonymousAuthenticationConfig.mode", "ENABLED")


@resource_rule("cis-gke-5.8.2-google-groups", CLUSTER, source="CIS GKE 1.9, 5.8.2", severity="medium")
def google_groups(cluster: Resource) -> Iterator[str]:
    """RBAC may name Google groups, so that a user that leaves a team loses the team's permissions."""
    return must_have(cluster, "authenticatorGroupsConfig.securityGroup")
