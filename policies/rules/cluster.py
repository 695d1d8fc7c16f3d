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
# GKE API: DatabaseEncryption.state; the second one also encrypts disks of the control plane.
ENCRYPTED = ("ENCRYPTED", "ALL_OBJECTS_ENCRYPTION_ENABLED")
# GKE API: BinaryAuthorization.evaluationMode, without DISABLED.
EVALUATION_MODES = (
    "PROJECT_SINGLETON_POLICY_ENFORCE",
    "POLICY_BINDINGS",
    "POLICY_BINDINGS_AND_PROJECT_SINGLETON_POLICY_ENFORCE",
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


@resource_rule(
    "cis-gke-5.7.1-workload-logs",
    CLUSTER,
    source="CIS GKE 1.9, 5.7.1; GKE API: LoggingConfig",
    severity="medium",
)
def workload_logs(cluster: Resource) -> Iterator[str]:
    """Logs of the jobs' containers are exported (GKE's default): what a job did is known after its pods are
    gone."""
    components = pick(cluster.props, "loggingConfig", "enableComponents")
    if components is not None and "WORKLOADS" not in components:
        yield "add WORKLOADS to loggingConfig.enableComponents"


@resource_rule(
    "cis-gke-5.3.1-secrets-encryption",
    CLUSTER,
    source="CIS GKE 1.9, 5.3.1; Checkov CKV_GCP_91",
    severity="high",
)
def secrets_encryption(cluster: Resource) -> Iterator[str]:
    """Secrets in etcd are encrypted with a key of Cloud KMS, whose use is logged and can be revoked."""
    state = pick(cluster.props, "databaseEncryption", "state")
    if state not in ENCRYPTED or pick(cluster.props, "databaseEncryption", "keyName") is None:
        yield (
            "set databaseEncryption.keyName to a key of Cloud KMS, and databaseEncryption.state to "
            '"ENCRYPTED"'
        )


@resource_rule(
    "cis-gke-4.5.1-binary-authorization",
    CLUSTER,
    source="CIS GKE 1.9, 4.5.1; CIS GKE 1.6, 5.10.4; Checkov CKV_GCP_66",
    severity="high",
)
def binary_authorization(cluster: Resource) -> Iterator[str]:
    """The API server admits images by Binary Authorization, which can require signatures."""
    return must_be(cluster, "binaryAuthorization.evaluationMode", *EVALUATION_MODES)


@resource_rule(
    "cis-gke-5.10.4-security-posture",
    CLUSTER,
    source="CIS GKE 1.9, 5.10.4; CIS GKE 1.6 to 1.8, 5.10.5",
    severity="medium",
)
def security_posture(cluster: Resource) -> Iterator[str]:
    """GKE scans workloads for misconfiguration, and shows it in its security posture dashboard."""
    return must_be(cluster, "securityPostureConfig.mode", "BASIC", "ENTERPRISE")


@resource_rule(
    "muster-no-default-network",
    CLUSTER,
    source="CIS Google Cloud Platform Foundation 3.0, 3.1",
    severity="high",
)
def no_default_network(cluster: Resource) -> Iterator[str]:
    """The cluster is in a network that was made for it: the rules of the default one admit SSH and RDP from
    anywhere, and each of its machines reaches all others."""
    network = pick(cluster.props, "network") or "default"
    if network.rpartition("/")[2] == "default":
        yield "set network to one of your own: it is the default network"


@resource_rule("cis-gke-5.10.2-no-alpha", CLUSTER, source="CIS GKE 1.9, 5.10.2", severity="high")
def no_alpha(cluster: Resource) -> Iterator[str]:
    """The cluster is not an alpha cluster: GKE does not upgrade those, and deletes them after 30 days."""
    return must_not_be(cluster, "enableKubernetesAlpha", True)
