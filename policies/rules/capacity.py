"""Capacity limits of a stack, and protection against deletion."""

import re
from collections.abc import Iterator, Mapping, Sequence

from policies.reading import must_be, must_not_be, pick
from policies.rule import Config, Resource, Violation, resource_rule, stack_rule
from policies.rules.cluster import CLUSTER
from policies.rules.node_pools import NODE_POOL, is_provisioned_per_job

BUCKET = "gcp:storage/bucket:Bucket"
ZONE = re.compile(r"[a-z]+-[a-z]+[0-9]+-[a-z]")
TPU_MACHINES = ("ct", "tpu")
COUNT = {"type": "number", "minimum": 0}
HARD_TAINTS = ("NO_SCHEDULE", "NO_EXECUTE")


@stack_rule(
    "muster-system-pool-is-not-queued",
    source="GKE, queued provisioning: system pods need a pool that is not queued",
    severity="high",
)
def system_pool_is_not_queued(resources: Sequence[Resource]) -> Iterator[Violation]:
    """At least one pool is available for system pods, operators and Ray heads: on-demand, without
    accelerators and without taints. A cluster created elsewhere has pools that the stack does not declare."""
    pools = [r for r in resources if r.kind == NODE_POOL]
    created = any(r.kind == CLUSTER for r in resources)
    if created and pools and not any(_takes_system_pods(pool) for pool in pools):
        yield Violation(
            min(pools, key=lambda pool: pool.name),
            "add a pool of CPU machines that is neither queued, flex-start nor spot and has no taints",
        )


@resource_rule(
    "muster-pool-size-is-bounded",
    NODE_POOL,
    CLUSTER,
    source="GKE, cluster autoscaler: limits of a pool, and of node auto-provisioning",
    severity="high",
    parameters={"nodes": COUNT, "autoProvisioned": {"type": "object", "additionalProperties": COUNT}},
)
def pool_size_is_bounded(resource: Resource, config: Config) -> Iterator[str]:
    """Node pools and node auto-provisioning have upper limits, at most those of the environment's
    configuration, which bound the costs."""
    if resource.kind == NODE_POOL:
        limits = pick(resource.props, "autoscaling") or {}
        bounds = (
            limits.get("maxNodeCount"),
            limits.get("totalMaxNodeCount"),
            resource.props.get("nodeCount"),
        )
        if bounds == (None, None, None):
            yield "set autoscaling.maxNodeCount or autoscaling.totalMaxNodeCount"
        nodes, allowed = nodes_max(resource), config.get("nodes")
        if nodes is not None and allowed is not None and nodes > allowed:
            yield f"lower the limit of its nodes to {allowed:g}, the environment's: it is {nodes}"
    elif pick(resource.props, "clusterAutoscaling", "enabled"):
        limited = pick(resource.props, "clusterAutoscaling", "resourceLimits")
        if not limited:
            yield "set clusterAutoscaling.resourceLimits"
        for i, limit in enumerate(limited or ()):
            where, maximum = f"clusterAutoscaling.resourceLimits[{i}].maximum", limit.get("maximum")
            allowed = allowed_of(limit.get("resourceType"), config)
            if maximum is None:
                yield f"set {where}"
            elif allowed is not None and int(maximum) > allowed:
                yield f"lower {where} to {allowed:g}, the environment's: it is {int(maximum)}"


def allowed_of(resource_type: str | None, config: Config) -> float | None:
    """Returns the environment's limit of a resource of node auto-provisioning; accelerators share one."""
    limits: Mapping[str, float] = config.get("autoProvisioned") or {}
    return limits.get(resource_type or "", limits.get("accelerators"))


@resource_rule(
    "muster-default-pool-is-removed",
    CLUSTER,
    source="Checkov CKV_GCP_123; GKE: changing a cluster's default pool recreates the cluster",
    severity="medium",
)
def default_pool_is_removed(cluster: Resource) -> Iterator[str]:
    """All nodes are in declared pools, which rules and quotas cover, not in the cluster's default pool."""
    if not cluster.props.get("enableAutopilot"):
        yield from must_be(cluster, "removeDefaultNodePool", True)


@resource_rule(
    "muster-deletion-protection",
    CLUSTER,
    BUCKET,
    source="GKE and Cloud Storage providers: deletionProtection, forceDestroy; Pulumi: protect",
    severity="critical",
)
def deletion_protection(resource: Resource) -> Iterator[str]:
    """GKE and Pulumi refuse to delete a cluster by mistake, and a bucket can be deleted only when empty."""
    if resource.kind == BUCKET:
        yield from must_not_be(resource, "forceDestroy", True)
        return
    yield from must_not_be(resource, "deletionProtection", False)
    if not resource.protect:
        yield "set the resource option protect"


def nodes_max(pool: Resource) -> int | None:
    """Returns the maximum number of nodes; None if there is no limit, or one per zone of a region."""
    if (total := pick(pool.props, "autoscaling", "totalMaxNodeCount")) is not None:
        return int(total)
    by_zone, zones = pick(pool.props, "autoscaling", "maxNodeCount"), pool.props.get("nodeLocations")
    if by_zone is None or not (zones or ZONE.fullmatch(pool.props.get("location") or "")):
        return None
    return int(by_zone) * len(zones or [""])


def gpus_max(pool: Resource) -> int | None:
    """Returns the maximum `nvidia.com/gpu` of a pool; None if it cannot be derived from the pool."""
    nodes, gpus = nodes_max(pool), 0
    for accelerator in pick(pool.props, "nodeConfig", "guestAccelerators") or ():
        shared = pick(accelerator, "gpuSharingConfig", "maxSharedClientsPerGpu") or 1
        if accelerator.get("gpuPartitionSize"):
            return None
        gpus += int(accelerator["count"]) * int(shared)
    return None if nodes is None else nodes * gpus


def _takes_system_pods(pool: Resource) -> bool:
    config = pick(pool.props, "nodeConfig") or {}
    accelerated = config.get("guestAccelerators") or str(config.get("machineType")).startswith(TPU_MACHINES)
    temporary = is_provisioned_per_job(pool) or config.get("spot") or config.get("preemptible")
    tainted = any(taint["effect"] in HARD_TAINTS for taint in config.get("taints") or ())
    return not (accelerated or temporary or tainted)
