"""Cases of the rules of nodes and of what a stack can grow to."""

from typing import Any

from policies.rule import Resource
from policies.rules import capacity, maintenance
from policies.rules import node_pools as rules
from tests.unit.policies.builders import (
    DISK_KEY,
    L4,
    Case,
    auto_provisioning,
    cluster,
    fails,
    l4_pool,
    passes,
    pool,
    resource,
)

DEFAULTS = "clusterAutoscaling.autoProvisioningDefaults"
ACCOUNT = "to one that may only write logs and metrics and pull images"
DEFAULT_ACCOUNT = "123456-compute@developer.gserviceaccount.com"
BUCKET = "gcp:storage/bucket:Bucket"
FLEX: dict[str, Any] = {"flexStart": True}
TAINT = {"key": "a", "value": "b", "effect": "NO_SCHEDULE"}
ADD_A_POOL = "add a pool of CPU machines that is neither queued, flex-start nor spot and has no taints"

LIMITS = {"nodes": 100.0, "autoProvisioned": {"cpu": 1000.0, "memory": 1e9, "accelerators": 16.0}}


def limited(**maxima: int) -> Resource:
    """Returns a cluster with these limits of node auto-provisioning."""
    limits = [{"resourceType": name, "maximum": maximum} for name, maximum in maxima.items()]
    return cluster(clusterAutoscaling={"enabled": True, "resourceLimits": limits})


CASES: tuple[Case, ...] = (
    passes(
        rules.node_service_account,
        "its own",
        pool(),
        auto_provisioning(serviceAccount="nodes@acme.iam.gserviceaccount.com"),
        cluster(),
    ),
    fails(
        rules.node_service_account,
        "Compute Engine's default",
        [
            pool("none", {"serviceAccount": None}),
            pool("named", {"serviceAccount": DEFAULT_ACCOUNT}),
            auto_provisioning(),
        ],
        f"none: set nodeConfig.serviceAccount {ACCOUNT}",
        f"named: set nodeConfig.serviceAccount {ACCOUNT}",
        f"ray: set {DEFAULTS}.serviceAccount {ACCOUNT}",
    ),
    passes(
        rules.boot_disk_keys,
        "of pools and of auto-provisioned ones",
        pool(),
        auto_provisioning(bootDiskKmsKey=DISK_KEY),
        cluster(),
    ),
    fails(
        rules.boot_disk_keys,
        "Google's",
        [pool(config={"bootDiskKmsKey": None}), auto_provisioning()],
        "system: set nodeConfig.bootDiskKmsKey: it is absent",
        f"ray: set {DEFAULTS}.bootDiskKmsKey: it is absent",
    ),
    passes(
        maintenance.upgrades_are_not_withheld,
        "of pools",
        pool(),
        pool(maintenancePolicies=[{"exclusionUntilEndOfSupports": [{"enabled": False}]}]),
    ),
    fails(
        maintenance.upgrades_are_not_withheld,
        "from a pool",
        pool(maintenancePolicies=[{"exclusionUntilEndOfSupports": [{"enabled": True}]}]),
        "system: remove maintenancePolicies: nodes get no fixes until the end of support",
    ),
    passes(rules.metadata_server, "GKE's", pool()),
    fails(
        rules.metadata_server,
        "the node's",
        pool(config={"workloadMetadataConfig": {"mode": "GCE_METADATA"}}),
        'system: set nodeConfig.workloadMetadataConfig.mode to "GKE_METADATA": it is "GCE_METADATA"',
    ),
    passes(
        rules.container_optimized_os,
        "by default, by name, in small letters",
        pool(),
        pool(config={"imageType": "COS_CONTAINERD"}),
        auto_provisioning(imageType="cos_containerd"),
    ),
    fails(
        rules.container_optimized_os,
        "Ubuntu",
        [pool(config={"imageType": "UBUNTU_CONTAINERD"}), auto_provisioning(imageType="UBUNTU_CONTAINERD")],
        'system: set nodeConfig.imageType to "COS_CONTAINERD": it is "UBUNTU_CONTAINERD"',
        f'ray: set {DEFAULTS}.imageType to "COS_CONTAINERD": it is "UBUNTU_CONTAINERD"',
    ),
    passes(rules.auto_repair, "on", pool()),
    passes(
        rules.auto_repair,
        "off where GKE refuses it",
        l4_pool(),
        pool(config=FLEX, management={"autoRepair": False, "autoUpgrade": True}),
    ),
    fails(
        rules.auto_repair,
        "off",
        pool(management=None),
        "system: set management.autoRepair to true: it is absent",
    ),
    passes(rules.auto_upgrade, "on, or left to GKE on a queued pool", pool(), l4_pool()),
    fails(
        rules.auto_upgrade,
        "off",
        [pool(management=None), l4_pool(management={"autoUpgrade": False})],
        "system: set management.autoUpgrade to true: it is absent",
        "l4: remove management.autoUpgrade: it is false",
    ),
    passes(rules.integrity_monitoring, "GKE's default", pool(), auto_provisioning()),
    fails(
        rules.integrity_monitoring,
        "off",
        [
            pool(config={"shieldedInstanceConfig": {"enableIntegrityMonitoring": False}}),
            auto_provisioning(shieldedInstanceConfig={"enableIntegrityMonitoring": False}),
        ],
        "system: remove nodeConfig.shieldedInstanceConfig.enableIntegrityMonitoring: it is false",
        f"ray: remove {DEFAULTS}.shieldedInstanceConfig.enableIntegrityMonitoring: it is false",
    ),
    passes(
        rules.secure_boot, "on", pool(), auto_provisioning(shieldedInstanceConfig={"enableSecureBoot": True})
    ),
    fails(
        rules.secure_boot,
        "off",
        [pool(config={"shieldedInstanceConfig": None}), auto_provisioning()],
        "system: set nodeConfig.shieldedInstanceConfig.enableSecureBoot to true: it is absent",
        f"ray: set {DEFAULTS}.shieldedInstanceConfig.enableSecureBoot to true: it is absent",
    ),
    passes(capacity.system_pool_is_not_queued, "an unqueued pool and a queued one", l4_pool(), pool()),
    passes(capacity.system_pool_is_not_queued, "no pools at all", cluster()),
    passes(capacity.system_pool_is_not_queued, "a queued one in a cluster made elsewhere", l4_pool()),
    fails(
        capacity.system_pool_is_not_queued,
        "only pools that system pods can't rely on",
        [
            cluster(),
            l4_pool(),
            pool("flex", FLEX),
            pool("gpu", {"guestAccelerators": [L4]}),
            pool("spot", {"spot": True}),
            pool("tainted", {"taints": [TAINT]}),
            pool("tpu", {"machineType": "ct6e-standard-4t"}),
        ],
        f"flex: {ADD_A_POOL}",
    ),
    passes(
        capacity.pool_size_is_bounded,
        "by zone, in total, or fixed",
        pool(),
        pool(autoscaling={"totalMaxNodeCount": 3}),
        pool(autoscaling=None, nodeCount=3),
        cluster(clusterAutoscaling={"enabled": True, "resourceLimits": [{"maximum": 64}]}),
    ),
    fails(
        capacity.pool_size_is_bounded,
        "no end",
        [
            pool(autoscaling={"minNodeCount": 1}),
            cluster(clusterAutoscaling={"enabled": True, "resourceLimits": [{"maximum": 64}, {}]}),
            cluster(clusterAutoscaling={"enabled": True}),
        ],
        "system: set autoscaling.maxNodeCount or autoscaling.totalMaxNodeCount",
        "ray: set clusterAutoscaling.resourceLimits[1].maximum",
        "ray: set clusterAutoscaling.resourceLimits",
    ),
    passes(
        capacity.pool_size_is_bounded,
        "the environment's limits",
        pool(autoscaling={"totalMaxNodeCount": 100}),
        limited(cpu=1000, memory=10**9, **{"nvidia-l4": 16}),
        config=LIMITS,
    ),
    fails(
        capacity.pool_size_is_bounded,
        "beyond the environment's limits",
        [pool(autoscaling={"totalMaxNodeCount": 101}), limited(cpu=10_000_000, **{"nvidia-l4": 17})],
        "system: lower the limit of its nodes to 100, the environment's: it is 101",
        "ray: lower clusterAutoscaling.resourceLimits[0].maximum to 1000, the environment's: it is 10000000",
        "ray: lower clusterAutoscaling.resourceLimits[1].maximum to 16, the environment's: it is 17",
        config=LIMITS,
    ),
    passes(
        capacity.default_pool_is_removed,
        "removed, or Autopilot's",
        cluster(),
        cluster(removeDefaultNodePool=None, enableAutopilot=True),
    ),
    fails(
        capacity.default_pool_is_removed,
        "kept",
        cluster(removeDefaultNodePool=None),
        "ray: set removeDefaultNodePool to true: it is absent",
    ),
    passes(
        capacity.deletion_protection,
        "the provider's default, and Pulumi's",
        cluster(),
        cluster(deletionProtection=True),
        resource(BUCKET, "checkpoints", {}),
    ),
    fails(
        capacity.deletion_protection,
        "neither",
        [
            cluster(protect=False, deletionProtection=False),
            resource(BUCKET, "checkpoints", {"forceDestroy": True}),
        ],
        "ray: remove deletionProtection: it is false",
        "ray: set the resource option protect",
        "checkpoints: remove forceDestroy: it is true",
    ),
)
