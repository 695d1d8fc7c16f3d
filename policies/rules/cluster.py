"""GKE clusters: versions, identity, networks, logs (CIS GKE Benchmark 1.9, sections 4.3 and 5)."""

from collections.abc import Iterator

from policies.reading import must_be, must_have, must_not_be, pick
from policies.rule import Resource, resource_rule

CLUSTER = "gcp:container/cluster:Cluster"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"

# Compute Engine has no flow logs for these subnets of load balancers' proxies, which have no nodes.
WITHOUT_FLOW_LOGS = frozenset(
    {
        "REGIONAL_MANAGED_PROXY",
        "GLOBAL_MANAGED_PROXY",
        "PRIVATE_SERVICE_CONNECT",
        "INTERNAL_HTTPS_LOAD_BALANCER",
    }
)


@resource_rule(
    "cis-gke-4.3.1-network-policies-enforced",
    CLUSTER,
    source="CIS GKE 1.9, 4.3.1; Checkov CKV_GCP_12",
    severity="high",
)
def network_policies_enforced(cluster: Resource) -> Iterator[str]:
    """The cluster enforces NetworkPolicies; otherwise the tenants' policies have no effect."""
    if not pick(cluster.props, "networkPolicy", "enabled"):
        yield from must_be(cluster, "datapathProvider", "ADVANCED_DATAPATH")


@resource_rule("cis-gke-5.2.2-workload-identity", CLUSTER, source="CIS GKE 1.9, 5.2.2", severity="high")
def workload_identity(cluster: Resource) -> Iterator[str]:
    """Pods have their own Google identities (Workload Identity), so they need no key and no node identity."""
    return must_have(cluster, "workloadIdentityConfig.workloadPool")


@resource_rule(
    "cis-gke-5.5.4-release-channel",
    CLUSTER,
    source="CIS GKE 1.9, 5.5.4; Checkov CKV_GCP_70",
    severity="medium",
)
def release_channel(cluster: Resource) -> Iterator[str]:
    """A release channel keeps control plane and nodes on supported, patched versions."""
    return must_be(cluster, "releaseChannel.channel", "RAPID", "REGULAR", "STABLE", "EXTENDED")


@resource_rule(
    "cis-gke-5.5.5-shielded-nodes",
    CLUSTER,
    source="CIS GKE 1.9, 5.5.5; Checkov CKV_GCP_71",
    severity="high",
)
def shielded_nodes(cluster: Resource) -> Iterator[str]:
    """Nodes prove their identity when they join (shielded nodes, GKE's default), against impersonation."""
    return must_not_be(cluster, "enableShieldedNodes", False)


@resource_rule(
    "cis-gke-5.6.1-flow-logs",
    CLUSTER,
    SUBNETWORK,
    source="CIS GKE 1.9, 5.6.1; Checkov CKV_GCP_26, CKV_GCP_61",
    severity="low",
)
def flow_logs(resource: Resource) -> Iterator[str]:
    """Traffic is logged: flow logs of the nodes' subnets, including traffic between pods of a node."""
    if resource.kind == CLUSTER:
        yield from must_be(resource, "enableIntranodeVisibility", True)
    elif resource.props.get("purpose") not in WITHOUT_FLOW_LOGS:
        yield from must_have(resource, "logConfig")


@resource_rule(
    "cis-gke-5.6.2-vpc-native",
    CLUSTER,
    source="CIS GKE 1.9, 5.6.2; Checkov CKV_GCP_23",
    severity="medium",
)
def vpc_native(cluster: Resource) -> Iterator[str]:
    """Pods have addresses of the VPC (alias ranges), so that its firewall and routes apply to them."""
    yield from must_have(cluster, "ipAllocationPolicy")
    yield from must_not_be(cluster, "networkingMode", "ROUTES")


@resource_rule(
    "cis-gke-5.6.5-private-nodes",
    CLUSTER,
    source="CIS GKE 1.9, 5.6.5; Checkov CKV_GCP_64",
    severity="high",
)
def private_nodes(cluster: Resource) -> Iterator[str]:
    """Nodes have no public addresses, so they are not reachable from the internet."""
    return must_be(cluster, "privateClusterConfig.enablePrivateNodes", True)


@resource_rule(
    "cis-gke-5.7.1-logging-and-monitoring",
    CLUSTER,
    source="CIS GKE 1.9, 5.7.1; Checkov CKV_GCP_1, CKV_GCP_8",
    severity="medium",
)
def logging_and_monitoring(cluster: Resource) -> Iterator[str]:
    """System logs and metrics are exported (GKE's default), so that they outlive the cluster."""
    for name in ("logging", "monitoring"):
        yield from must_not_be(cluster, f"{name}Service", "none")
        components = pick(cluster.props, f"{name}Config", "enableComponents")
        if components is not None and "SYSTEM_COMPONENTS" not in components:
            yield f"add SYSTEM_COMPONENTS to {name}Config.enableComponents"


@resource_rule("cis-gke-5.10.2-no-alpha", CLUSTER, source="CIS GKE 1.9, 5.10.2", severity="high")
def no_alpha(cluster: Resource) -> Iterator[str]:
    """The cluster is not an alpha cluster: GKE does not upgrade those, and deletes them after 30 days."""
    return must_not_be(cluster, "enableKubernetesAlpha", True)
