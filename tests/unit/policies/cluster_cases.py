"""Cases of the rules of clusters and their control planes."""

from policies.rules import cluster as rules
from policies.rules import control_plane
from tests.unit.policies.builders import Case, cluster, fails, passes, resource

PRIVATE_OR_DNS = (
    "ray: set privateClusterConfig.enablePrivateEndpoint to true, or "
    "controlPlaneEndpointsConfig.ipEndpointsConfig.enabled to false"
)
NETWORKS_OR_DNS = (
    "ray: list the networks in masterAuthorizedNetworksConfig.cidrBlocks, or set "
    "controlPlaneEndpointsConfig.ipEndpointsConfig.enabled to false"
)
SUBNET = "gcp:compute/subnetwork:Subnetwork"


def networks(*blocks: str) -> dict[str, object]:
    return {"cidrBlocks": [{"cidrBlock": block} for block in blocks]}


CASES: tuple[Case, ...] = (
    passes(rules.network_policies_enforced, "Dataplane V2", cluster()),
    passes(
        rules.network_policies_enforced,
        "Calico",
        cluster(datapathProvider=None, networkPolicy={"enabled": True}),
    ),
    fails(
        rules.network_policies_enforced,
        "neither",
        cluster(datapathProvider="LEGACY_DATAPATH"),
        'ray: set datapathProvider to "ADVANCED_DATAPATH": it is "LEGACY_DATAPATH"',
    ),
    passes(rules.workload_identity, "a workload pool", cluster()),
    fails(
        rules.workload_identity,
        "none",
        cluster(workloadIdentityConfig=None),
        "ray: set workloadIdentityConfig.workloadPool: it is absent",
    ),
    passes(rules.release_channel, "regular", cluster()),
    fails(
        rules.release_channel,
        "no channel",
        cluster(releaseChannel={"channel": "UNSPECIFIED"}),
        'ray: set releaseChannel.channel to "RAPID" or "REGULAR" or "STABLE" or "EXTENDED": '
        'it is "UNSPECIFIED"',
    ),
    passes(rules.shielded_nodes, "GKE's default", cluster()),
    fails(
        rules.shielded_nodes,
        "switched off",
        cluster(enableShieldedNodes=False),
        "ray: remove enableShieldedNodes: it is false",
    ),
    passes(
        rules.flow_logs,
        "of a cluster and its subnet",
        cluster(),
        resource(SUBNET, "nodes", {"logConfig": {}}),
        resource(SUBNET, "proxies", {"purpose": "REGIONAL_MANAGED_PROXY"}),
    ),
    fails(
        rules.flow_logs,
        "neither",
        [cluster(enableIntranodeVisibility=None), resource(SUBNET, "nodes", {})],
        "ray: set enableIntranodeVisibility to true: it is absent",
        "nodes: set logConfig: it is absent",
    ),
    passes(rules.vpc_native, "alias ranges", cluster()),
    fails(
        rules.vpc_native,
        "routes",
        cluster(ipAllocationPolicy=None, networkingMode="ROUTES"),
        "ray: set ipAllocationPolicy: it is absent",
        'ray: remove networkingMode: it is "ROUTES"',
    ),
    passes(rules.private_nodes, "private", cluster()),
    fails(
        rules.private_nodes,
        "public",
        cluster(privateClusterConfig={"enablePrivateNodes": False}),
        "ray: set privateClusterConfig.enablePrivateNodes to true: it is false",
    ),
    passes(rules.logging_and_monitoring, "GKE's default", cluster()),
    passes(
        rules.logging_and_monitoring,
        "more than the system's",
        cluster(loggingConfig={"enableComponents": ["SYSTEM_COMPONENTS", "WORKLOADS"]}),
    ),
    fails(
        rules.logging_and_monitoring,
        "only GPUs, and no logs",
        cluster(monitoringConfig={"enableComponents": ["DCGM"]}, loggingService="none"),
        'ray: remove loggingService: it is "none"',
        "ray: add SYSTEM_COMPONENTS to monitoringConfig.enableComponents",
    ),
    passes(rules.no_alpha, "no alpha", cluster()),
    fails(
        rules.no_alpha,
        "alpha",
        cluster(enableKubernetesAlpha=True),
        "ray: remove enableKubernetesAlpha: it is true",
    ),
    passes(control_plane.authorized_networks, "the DNS endpoint alone", cluster()),
    passes(
        control_plane.authorized_networks,
        "one network",
        cluster(controlPlaneEndpointsConfig=None, masterAuthorizedNetworksConfig=networks("192.0.2.0/24")),
    ),
    fails(
        control_plane.authorized_networks,
        "no list",
        cluster(controlPlaneEndpointsConfig=None),
        NETWORKS_OR_DNS,
    ),
    fails(
        control_plane.authorized_networks,
        "everyone",
        cluster(
            controlPlaneEndpointsConfig=None,
            masterAuthorizedNetworksConfig=networks("192.0.2.0/24", "0.0.0.0/0"),
        ),
        "ray: remove 0.0.0.0/0 from masterAuthorizedNetworksConfig.cidrBlocks",
    ),
    passes(control_plane.private_endpoint, "the DNS endpoint alone", cluster()),
    passes(
        control_plane.private_endpoint,
        "a private address",
        cluster(controlPlaneEndpointsConfig=None, privateClusterConfig={"enablePrivateEndpoint": True}),
    ),
    fails(
        control_plane.private_endpoint,
        "a public address",
        cluster(controlPlaneEndpointsConfig={"ipEndpointsConfig": {"enabled": True}}),
        PRIVATE_OR_DNS,
    ),
    passes(control_plane.no_client_certificates, "GKE's default", cluster()),
    fails(
        control_plane.no_client_certificates,
        "one is issued",
        cluster(masterAuth={"clientCertificateConfig": {"issueClientCertificate": True}}),
        "ray: remove masterAuth.clientCertificateConfig.issueClientCertificate: it is true",
    ),
    passes(control_plane.no_legacy_abac, "RBAC", cluster()),
    fails(
        control_plane.no_legacy_abac,
        "ABAC",
        cluster(enableLegacyAbac=True),
        "ray: remove enableLegacyAbac: it is true",
    ),
    passes(control_plane.no_anonymous_requests, "GKE's default", cluster()),
    fails(
        control_plane.no_anonymous_requests,
        "all requests",
        cluster(anonymousAuthenticationConfig={"mode": "ENABLED"}),
        'ray: remove anonymousAuthenticationConfig.mode: it is "ENABLED"',
    ),
    passes(control_plane.insecure_bindings_are_refused, "both refused", cluster()),
    fails(
        control_plane.insecure_bindings_are_refused,
        "GKE's default allows them",
        cluster(rbacBindingConfig=None),
        "ray: set rbacBindingConfig.enableInsecureBindingSystemAuthenticated to false: it is absent",
        "ray: set rbacBindingConfig.enableInsecureBindingSystemUnauthenticated to false: it is absent",
    ),
)
