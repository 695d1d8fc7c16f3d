"""Nodes of pools, ComputeClasses and node auto-provisioning (CIS GKE Benchmark 1.9, sections 5.2, 5.4 and
5.5)."""

from collections.abc import Iterator

from pulumi_policy.proxy import UnknownValueError

from policies.reading import must_be, must_have, must_not_be, pick
from policies.rule import Resource, resource_rule
from policies.rules.cluster import CLUSTER

NODE_POOL = "gcp:container/nodePool:NodePool"
COMPUTE_CLASS = "kubernetes:cloud.google.com:ComputeClass"
# Kinds of resources with nodes: the cluster has those of node auto-provisioning.
NODES = (NODE_POOL, COMPUTE_CLASS, CLUSTER)
AUTO_PROVISIONED = "clusterAutoscaling.autoProvisioningDefaults"
DEFAULT_ACCOUNT = "-compute@developer.gserviceaccount.com"


def is_queued(pool: Resource) -> bool:
    """Returns whether the nodes of a pool are requested for entire gangs (queued provisioning)."""
    return bool(pick(pool.props, "queuedProvisioning", "enabled"))


def is_provisioned_per_job(pool: Resource) -> bool:
    """Returns whether the pool is queued or flex-start: its nodes exist only for the duration of a job."""
    return is_queued(pool) or bool(pick(pool.props, "nodeConfig", "flexStart"))


def node_configs(resource: Resource) -> list[str]:
    """Returns the paths of node configurations; a cluster has one if node auto-provisioning is on."""
    if resource.kind == NODE_POOL:
        return ["nodeConfig"]
    if resource.kind == COMPUTE_CLASS:
        return ["spec.nodePoolConfig"]
    return [AUTO_PROVISIONED] if pick(resource.props, "clusterAutoscaling", "enabled") else []


def _instances(resource: Resource) -> list[str]:
    """Returns the paths of the shielded-instance settings."""
    if resource.kind == COMPUTE_CLASS:
        return ["spec.nodePoolAutoCreation"]
    return node_configs(resource)


@resource_rule(
    "cis-gke-5.2.1-node-service-account",
    *NODES,
    source="CIS GKE 1.9, 5.2.1",
    severity="high",
)
def node_service_account(resource: Resource) -> Iterator[str]:
    """Nodes have a dedicated service account: Compute Engine's default one may edit the project."""
    for where in node_configs(resource):
        try:
            account = pick(resource.props, *where.split("."), "serviceAccount") or "default"
        except UnknownValueError:  # created by the same stack, so not the default one
            continue
        if account == "default" or account.endswith(DEFAULT_ACCOUNT):
            yield f"set {where}.serviceAccount to one that may only write logs and metrics and pull images"


@resource_rule(
    "cis-gke-5.4.1-metadata-server",
    NODE_POOL,
    source="CIS GKE 1.9, 5.4.1; Checkov CKV_GCP_69",
    severity="high",
)
def metadata_server(pool: Resource) -> Iterator[str]:
    """Pods use GKE's metadata server, not the node's, which would expose the node's credentials."""
    return must_be(pool, "nodeConfig.workloadMetadataConfig.mode", "GKE_METADATA")


@resource_rule(
    "cis-gke-5.5.1-container-optimized-os",
    *NODES,
    source="CIS GKE 1.9, 5.5.1; Checkov CKV_GCP_22",
    severity="medium",
)
def container_optimized_os(resource: Resource) -> Iterator[str]:
    """Nodes run Container-Optimized OS (GKE's default), whose system partition is read-only and verified."""
    for where in node_configs(resource):
        image = pick(resource.props, *where.split("."), "imageType")
        if image is not None and image.upper() != "COS_CONTAINERD":
            yield f'set {where}.imageType to "COS_CONTAINERD": it is "{image}"'


@resource_rule(
    "cis-gke-5.5.2-auto-repair",
    NODE_POOL,
    source="CIS GKE 1.9, 5.5.2; Checkov CKV_GCP_9; exemption: GKE, flex-start with queued provisioning",
    severity="medium",
)
def auto_repair(pool: Resource) -> Iterator[str]:
    """GKE repairs broken nodes. Not required for queued and flex-start pools, where GKE refuses it: their
    nodes are deleted with the job."""
    if not is_provisioned_per_job(pool):
        yield from must_be(pool, "management.autoRepair", True)


@resource_rule(
    "cis-gke-5.5.3-auto-upgrade",
    NODE_POOL,
    source="CIS GKE 1.9, 5.5.3; Checkov CKV_GCP_10; GKE, node pool upgrade strategies",
    severity="medium",
)
def auto_upgrade(pool: Resource) -> Iterator[str]:
    """Nodes get security fixes automatically. Queued and flex-start pools may leave it unset: GKE upgrades
    them while they are empty."""
    if is_provisioned_per_job(pool):
        yield from must_not_be(pool, "management.autoUpgrade", False)
    else:
        yield from must_be(pool, "management.autoUpgrade", True)


@resource_rule(
    "cis-gke-5.5.6-integrity-monitoring",
    *NODES,
    source="CIS GKE 1.9, 5.5.6; Checkov CKV_GCP_72",
    severity="medium",
)
def integrity_monitoring(resource: Resource) -> Iterator[str]:
    """Changes to a node's boot sequence are detected (GKE's default)."""
    for where in _instances(resource):
        yield from must_not_be(resource, f"{where}.shieldedInstanceConfig.enableIntegrityMonitoring", False)


@resource_rule(
    "cis-gke-5.5.7-secure-boot",
    *NODES,
    source="CIS GKE 1.9, 5.5.7; Checkov CKV_GCP_68",
    severity="medium",
)
def secure_boot(resource: Resource) -> Iterator[str]:
    """Nodes boot signed software only, which prevents rootkits. GPU drivers that GKE installs are signed."""
    for where in _instances(resource):
        yield from must_be(resource, f"{where}.shieldedInstanceConfig.enableSecureBoot", True)


@resource_rule(
    "cis-gke-5.9.2-boot-disk-keys",
    *NODES,
    source="CIS GKE 1.9, 5.9.2",
    severity="medium",
)
def boot_disk_keys(resource: Resource) -> Iterator[str]:
    """Boot disks of nodes are encrypted with a key of Cloud KMS, whose use is logged and can be revoked."""
    if resource.kind != COMPUTE_CLASS:
        for where in node_configs(resource):
            yield from must_have(resource, f"{where}.bootDiskKmsKey")
        return
    for i, priority in enumerate(pick(resource.props, "spec", "priorities") or ()):
        if pick(priority, "storage", "bootDiskKMSKey") is None:
            yield f"set spec.priorities[{i}].storage.bootDiskKMSKey: it is absent"
