"""GKE node pools of the settings' pools."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_gcp as gcp
from pulumi_gcp.compute import ResourcePolicyWorkloadPolicyArgs
from pulumi_gcp.container import (
    NodePoolAutoscalingArgs,
    NodePoolMaintenancePolicyArgs,
    NodePoolMaintenancePolicyExclusionUntilEndOfSupportArgs,
    NodePoolManagementArgs,
    NodePoolNetworkConfigAdditionalNodeNetworkConfigArgs,
    NodePoolNetworkConfigArgs,
    NodePoolPlacementPolicyArgs,
    NodePoolQueuedProvisioningArgs,
    NodePoolUpgradeSettingsArgs,
    NodePoolUpgradeSettingsBlueGreenSettingsArgs,
    NodePoolUpgradeSettingsBlueGreenSettingsStandardRolloutPolicyArgs,
)

from components.base import Component
from components.foundation.google_cloud import name_at_creation
from components.foundation.gpu_networks import NodeInterface
from components.foundation.node_config import node_config
from settings.model.foundation.node_defaults import NodeDefaults
from settings.model.foundation.place import GkePlace, zones_of
from settings.model.pools.parts import Upgrade
from settings.model.pools.pool import Pool

# Machines whose slices are placed by a workload policy (xpk, requires_workload_policy).
PLACED_BY_POLICY = ("tpu7x-",)
NVLINK_TOPOLOGY = "1x72"


@dataclass(frozen=True)
class NodePoolsArgs:
    """name: the cluster's, as an input that makes the pools depend on it.

    service_account: for pools that name none.
    interfaces: for GPU traffic; a pool uses the first ones, as many as its machines have.
    defaults: the cluster's, for pools without their own.
    """

    pools: tuple[Pool, ...]
    project: str
    cluster: GkePlace
    name: pulumi.Input[str]
    service_account: pulumi.Input[str]
    interfaces: Sequence[NodeInterface] = ()
    defaults: NodeDefaults = field(default_factory=NodeDefaults)


class NodePools(Component):
    """One `gcp.container.NodePool` for each pool, or for each TPU slice; `node_pools` holds them by name."""

    def __init__(self, name: str, args: NodePoolsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("NodePools", name, opts)
        self._args = args
        self.node_pools: dict[str, gcp.container.NodePool] = {}
        # Pools with accelerators last: GKE taints their nodes only if a pool without accelerators exists.
        plain = [pool for pool in args.pools if not _accelerated(pool)]
        for pool in plain:
            self._declare(pool, [])
        first = list(self.node_pools.values())
        for pool in args.pools:
            if _accelerated(pool):
                self._declare(pool, first)
        self.register_outputs({"names": list(self.node_pools)})

    def _declare(self, pool: Pool, after: Sequence[pulumi.Resource]) -> None:
        placement = self._placement(pool)
        for index, name in enumerate(pool.node_pools):
            part = pool.model_copy(update={"nodes": pool.nodes_in(index)})
            self.node_pools[name] = self._node_pool(name, part, placement, after)

    def _node_pool(
        self,
        name: str,
        pool: Pool,
        placement: NodePoolPlacementPolicyArgs | None,
        after: Sequence[pulumi.Resource],
    ) -> gcp.container.NodePool:
        args, cluster = self._args, self._args.cluster
        return gcp.container.NodePool(
            self.named(name),
            name=name,
            project=args.project,
            cluster=args.name,
            location=cluster.location,
            node_locations=list(pool.zones) or None,
            initial_node_count=_initial(pool, cluster),
            autoscaling=_autoscaling(pool, cluster),
            queued_provisioning=NodePoolQueuedProvisioningArgs(enabled=True) if pool.queued else None,
            management=_management(pool),
            maintenance_policies=_maintenance(pool),
            upgrade_settings=_upgrade_settings(pool.upgrade) if pool.upgrade else None,
            placement_policy=placement,
            max_pods_per_node=pool.max_pods_per_node,
            network_config=_network_config(pool, args.interfaces),
            node_config=node_config(pool, args.service_account, args.defaults),
            # Also against deletion that gets past Pulumi's `protect`; the cluster has its own protection.
            deletion_policy="PREVENT" if cluster.protected else None,
            opts=self.child(
                depends_on=after,
                protect=cluster.protected,
                # The autoscaler owns the count, and GKE reports the current count as the initial one; a diff
                # would recreate the pool.
                ignore_changes=["initialNodeCount", "nodeCount"],
                # GKE applies placement when it creates a pool; the provider would update it in place.
                replace_on_changes=["placementPolicy"],
                # Flavors select nodes by the pool's name, so the replacement needs the same name.
                delete_before_replace=True,
            ),
        )

    def _placement(self, pool: Pool) -> NodePoolPlacementPolicyArgs | None:
        """Places multi-host slices by their topology; single-host TPUs must have no policy (xpk). An NVLink
        domain has a workload policy (cluster-toolkit, gke-a4x)."""
        if pool.placement == "nvlink":
            policy = self._workload_policy(pool, NVLINK_TOPOLOGY)
            return NodePoolPlacementPolicyArgs(type="COMPACT", policy_name=policy.name)
        if not pool.tpu or not pool.multi_host:
            return NodePoolPlacementPolicyArgs(type="COMPACT") if pool.placement else None
        placement = NodePoolPlacementPolicyArgs(type="COMPACT", tpu_topology=pool.tpu.topology)
        if pool.machine_type.startswith(PLACED_BY_POLICY):
            placement.policy_name = self._workload_policy(pool, pool.tpu.topology).name
        return placement

    def _workload_policy(self, pool: Pool, topology: str) -> gcp.compute.ResourcePolicy:
        return gcp.compute.ResourcePolicy(
            self.named(f"{self._args.cluster.name}-{pool.name}"),
            name=self._args.cluster.unique(pool.name),
            project=self._args.project,
            region=self._args.cluster.region,
            workload_policy=ResourcePolicyWorkloadPolicyArgs(
                type="HIGH_THROUGHPUT", accelerator_topology=topology
            ),
            opts=self.child(ignore_changes=name_at_creation()),
        )


def _accelerated(pool: Pool) -> bool:
    return pool.gpu is not None or pool.tpu is not None


def _initial(pool: Pool, cluster: GkePlace) -> int:
    """Returns the initial nodes (in each zone, if there are several): `nodes.initial`, else `nodes.min`."""
    if pool.nodes is None:
        return 0
    if pool.nodes.initial is not None:
        return pool.nodes.initial
    return pool.nodes.min if len(zones_of(pool, cluster)) == 1 else min(pool.nodes.min, 1)


def _autoscaling(pool: Pool, cluster: GkePlace) -> NodePoolAutoscalingArgs:
    """Returns the whole pool's limits: GKE counts `min_node_count` by zone, `total_*` over all zones."""
    # ANY takes whichever zone has capacity; BALANCED would wait for all of them.
    policy = "BALANCED" if pool.provisioning == "on-demand" else "ANY"
    least, most = (pool.nodes.min, pool.nodes.max) if pool.nodes else (0, pool.slice_nodes)
    # GKE's guide limits queued flex-start VMs in total; slices are limited by zone (cluster-toolkit).
    as_in_guide = pool.queued and pool.flex_start_vms and not pool.slices
    if len(zones_of(pool, cluster)) == 1 and not as_in_guide:
        return NodePoolAutoscalingArgs(min_node_count=least, max_node_count=most, location_policy=policy)
    return NodePoolAutoscalingArgs(
        total_min_node_count=least, total_max_node_count=most, location_policy=policy
    )


def _management(pool: Pool) -> NodePoolManagementArgs | None:
    """Returns None for queued pools from before flex-start: GKE upgrades them when nothing runs on them.

    Flex-start VMs are not repaired, which would mean another wait for capacity (GKE, flex-start with queued
    provisioning; cluster-toolkit; xpk).
    """
    if pool.queued and not pool.flex_start_vms:
        return None
    return NodePoolManagementArgs(auto_repair=not pool.flex_start_vms, auto_upgrade=True)


def _maintenance(pool: Pool) -> list[NodePoolMaintenancePolicyArgs] | None:
    if pool.maintenance_exclusion is None:
        return None
    exclusion = NodePoolMaintenancePolicyExclusionUntilEndOfSupportArgs(enabled=True)
    return [NodePoolMaintenancePolicyArgs(exclusion_until_end_of_supports=[exclusion])]


def _upgrade_settings(upgrade: Upgrade) -> NodePoolUpgradeSettingsArgs:
    if upgrade.strategy == "surge":
        return NodePoolUpgradeSettingsArgs(
            strategy="SURGE", max_surge=upgrade.max_surge, max_unavailable=upgrade.max_unavailable
        )
    return NodePoolUpgradeSettingsArgs(
        strategy="BLUE_GREEN",
        blue_green_settings=NodePoolUpgradeSettingsBlueGreenSettingsArgs(
            node_pool_soak_duration=f"{upgrade.soak_seconds}s",
            standard_rollout_policy=NodePoolUpgradeSettingsBlueGreenSettingsStandardRolloutPolicyArgs(
                batch_node_count=1
            ),
        ),
    )


def _network_config(pool: Pool, interfaces: Sequence[NodeInterface]) -> NodePoolNetworkConfigArgs | None:
    if pool.dranet:
        return NodePoolNetworkConfigArgs(accelerator_network_profile="auto")
    if not pool.gpu_networks:
        return None
    return NodePoolNetworkConfigArgs(
        additional_node_network_configs=[
            NodePoolNetworkConfigAdditionalNodeNetworkConfigArgs(
                network=interface.network, subnetwork=interface.subnetwork
            )
            for interface in interfaces[: pool.gpu_networks]
        ]
    )
